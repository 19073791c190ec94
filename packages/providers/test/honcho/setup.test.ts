import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHonchoProvider } from "../../src/honcho/provider.ts";
import { readHonchoSettings } from "../../src/honcho/settings.ts";
import { FakeHoncho } from "../fakes/servers/honcho.ts";

type Asked = { readonly questions: string[]; readonly lines: string[]; readonly home: string };
type Script = {
  readonly home?: string;
  readonly values?: Readonly<Record<string, string>>;
  /** By the first words of a question; without an entry the default is taken. Undefined: nobody can be asked. */
  readonly answers?: Readonly<Record<string, string | readonly string[]>>;
  readonly env?: Readonly<Record<string, string>>;
};

async function setUp({
  home = tempDirectory(),
  values = {},
  answers,
  env = { USER: "ann" },
}: Script): Promise<Asked> {
  const questions: string[] = [];
  const lines: string[] = [];
  const left = new Map(Object.entries(answers ?? {}).map(([key, value]) => [key, [value].flat()]));
  const ask = async (question: string, options?: { readonly default?: string }): Promise<string> => {
    questions.push(question);
    const scripted = [...left].find(([start]) => question.startsWith(start))?.[1].shift();
    return scripted ?? options?.default ?? "";
  };
  const provider = createHonchoProvider({ home, env, userHome: join(home, "nobody") });
  await provider.postSetup?.(
    home,
    {},
    {
      ...(answers === undefined ? {} : { ask }),
      print: (line) => void lines.push(line),
      values,
    },
  );
  return { questions, lines, home };
}

async function fake(): Promise<FakeHoncho> {
  const server = await new FakeHoncho().start();
  onTestFinished(() => server.stop());
  return server;
}

function saved(home: string): { hosts: { hermes: Record<string, unknown> }; baseUrl?: string } {
  return JSON.parse(readFileSync(join(home, "honcho.json"), "utf8"));
}

describe("without questions", () => {
  it("takes everything from --set, and switches the provider on", async () => {
    const server = await fake();
    const { home, lines } = await setUp({
      values: { baseUrl: `${server.url}/v3`, apiKey: "jwt-1", recallMode: "tools", contextTokens: "900" },
    });
    expect(saved(home)).toEqual({
      baseUrl: server.url,
      hosts: {
        hermes: {
          peerName: "ann",
          dialecticCadence: 2,
          apiKey: "jwt-1",
          recallMode: "tools",
          contextTokens: 900,
          enabled: true,
        },
      },
    });
    expect(readFileSync(join(home, "config.yaml"), "utf8")).toContain("provider: honcho");
    expect(lines.join("\n")).not.toContain("jwt-1");
  });

  it("refuses unknown and wrong values and saves nothing", async () => {
    const home = tempDirectory();
    const wrong: Readonly<Record<string, string>>[] = [
      { mode: "fast" },
      { colour: "blue" },
      { baseUrl: "true" },
      { dialecticDepth: "7" },
    ];
    for (const values of wrong) await expect(setUp({ home, values })).rejects.toThrow("Nothing was saved.");
    expect(existsSync(join(home, "honcho.json"))).toBe(false);
  });

  it("needs a key or an address", async () => {
    const home = tempDirectory();
    await expect(setUp({ home, values: {} })).rejects.toThrow("--set apiKey=");
    expect(existsSync(join(home, "honcho.json"))).toBe(false);
  });
});

describe("with questions", () => {
  const local = async () => ({ "Honcho in the cloud": "local", "Address of the server": (await fake()).url });

  it("asks in order and offers defaults", async () => {
    const { questions, home } = await setUp({ answers: await local() });
    expect(questions.map((question) => question.split(/[ :,?]/)[0])).toEqual([
      "Honcho",
      "Address",
      "Token",
      "Your",
      "The",
      "Workspace",
      "Set",
      "unified",
      "When",
      "What",
      "Longest",
      "Turns",
      "How",
      "What",
    ]);
    expect(saved(home).hosts.hermes).toEqual({
      peerName: "ann",
      aiPeer: "hermes",
      workspace: "hermes",
      observationMode: "unified",
      writeFrequency: "async",
      recallMode: "hybrid",
      dialecticCadence: 2,
      dialecticReasoningLevel: "low",
      sessionStrategy: "per-directory",
      enabled: true,
    });
  });

  it("offers an address without its password, and keeps the password when the offer is taken", async () => {
    const baseUrl = "http://ann:pa55word@localhost:8000";
    const { home } = await setUp({ values: { baseUrl } });
    const { questions, lines } = await setUp({ home, answers: {} });
    expect([...questions, ...lines].join("\n")).not.toContain("pa55word");
    expect(saved(home).baseUrl).toBe(baseUrl);
    const settings = readHonchoSettings({ home, env: {}, userHome: join(home, "nobody") });
    expect(settings).toMatchObject({ bearer: "", publicUrl: "http://localhost:8000" });
    await setUp({ home, answers: { "Address of the server": "http://localhost:9000" } });
    expect(saved(home).baseUrl).toBe("http://localhost:9000");
  });

  it("takes a key for the cloud and forgets the old address", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "honcho.json"), JSON.stringify({ base_url: "http://old:1", timeout: 0.2 }));
    const { questions } = await setUp({
      home,
      answers: { "Honcho in the cloud": "cloud", "API key": "key-1" },
      env: { USER: "ann", HONCHO_BASE_URL: (await fake()).url },
    });
    expect(questions.some((question) => question.startsWith("API key"))).toBe(true);
    expect(saved(home)).toMatchObject({ hosts: { hermes: { apiKey: "key-1" } } });
    expect(saved(home)).not.toHaveProperty("base_url");
  });

  it("maps people of a gateway: pinned, with aliases, separate, raw, or not at all", async () => {
    const mapping = async (answers: Script["answers"], home = tempDirectory()) => {
      const set = { "Set how people": "y", ...(await local()), ...answers };
      return saved((await setUp({ home, answers: set })).home).hosts.hermes;
    };
    expect(await mapping({ Which: "1" })).toMatchObject({ pinUserPeer: true });
    expect(
      await mapping({ Which: "2", "Id of an account": ["telegram:42", "7", ""], "Whose memory is 7": "bo" }),
    ).toMatchObject({ pinUserPeer: false, userPeerAliases: { "telegram:42": "ann", 7: "bo" } });
    const separate = await mapping({ Which: "3" });
    expect(separate).toMatchObject({ pinUserPeer: false });
    expect(separate).not.toHaveProperty("userPeerAliases");
    expect(await mapping({ Which: "s" })).not.toHaveProperty("pinUserPeer");
    expect(
      await mapping({
        Which: "e",
        pinUserPeer: "no",
        userPeerAliases: '{"9":"cy"}',
        runtimePeerPrefix: "tg-",
      }),
    ).toMatchObject({ pinUserPeer: false, userPeerAliases: { 9: "cy" }, runtimePeerPrefix: "tg-" });
  });

  it("warns when accounts are no longer one person, and offers aliases; the old name of the pin is given up", async () => {
    const home = tempDirectory();
    const block = { pinPeerName: true, peerName: "ann" };
    writeFileSync(join(home, "honcho.json"), JSON.stringify({ hosts: { hermes: block } }));
    const { lines } = await setUp({
      home,
      answers: { ...(await local()), "Set how people": "y", Which: "3", "Id of an account": ["42", ""] },
    });
    expect(lines.join("\n")).toContain("each starts with an empty memory");
    expect(saved(home).hosts.hermes).toMatchObject({ pinUserPeer: false, userPeerAliases: { 42: "ann" } });
    expect(saved(home).hosts.hermes).not.toHaveProperty("pinPeerName");
  });
});
