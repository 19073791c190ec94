// RetainDB as a provider against the fake server: turns, recall, mirrored entries, SOUL.md, users, erasing.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { InitializeOptions, MemoryProvider } from "../../../core/src/providers/index.ts";
import type { NetworkedOptions } from "../../src/kit/networked/provider.ts";
import { FakeRetainDb } from "../fakes/servers/retaindb.ts";
import type { RetainDbEdition } from "../fakes/servers/retaindb-controls.ts";
import { KEY, projectOf, providerFor } from "./harness.ts";

const OPTIONS = { session_id: "s1" };
const MODEL = { persona: "Dry", persistent_instructions: ["Be short"], working_style: null, memory_count: 3 };

type Options = Partial<InitializeOptions> & {
  readonly edition?: RetainDbEdition;
  readonly settings?: object;
  readonly soul?: string;
  readonly provider?: Partial<NetworkedOptions>;
};
type Opened = { readonly fake: FakeRetainDb; readonly home: string };

async function open(options: Options = {}, before?: Opened) {
  const { edition, settings, soul, provider: own, ...initialize } = options;
  const home = before?.home ?? mkdtempSync(join(tmpdir(), "hermes-retaindb-"));
  const fake = before?.fake ?? (await new FakeRetainDb(edition === undefined ? {} : { edition }).start());
  onTestFinished(async () => {
    await fake.stop();
    rmSync(home, { recursive: true, force: true });
  });
  fake.requireAuth(KEY);
  if (settings !== undefined) writeFileSync(join(home, "retaindb.json"), JSON.stringify(settings));
  if (soul !== undefined) writeFileSync(join(home, "SOUL.md"), soul);
  const provider = providerFor(fake, home, own);
  onTestFinished(() => provider.shutdown?.({}));
  await provider.initialize("s1", { hermes_home: home, platform: "cli", ...initialize });
  return { fake, home, provider, project: projectOf(home) };
}

/** Everything that was queued is sent. */
async function drain(provider: MemoryProvider): Promise<void> {
  await provider.onSessionEnd?.([], {});
}

const bodies = (fake: FakeRetainDb, path: string): readonly Record<string, unknown>[] =>
  fake.requests.filter((each) => each.path === path).map(({ body }) => body as Record<string, unknown>);

describe("turns", () => {
  it("are ingested with one time that ends in Z, under the key of their batch", async () => {
    const { fake, provider, project } = await open({ edition: "open" });
    await provider.syncTurn?.("I like tea", "Noted.", OPTIONS);
    await drain(provider);
    const [user, assistant] = fake.messagesOf(project, "s1");
    expect(user).toMatchObject({ role: "user", content: "I like tea" });
    expect(assistant).toMatchObject({ role: "assistant", content: "Noted.", timestamp: user?.timestamp });
    expect(user?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const [request] = fake.requests;
    expect(request?.body).toMatchObject({
      project,
      session_id: "s1",
      user_id: "default",
      write_mode: "sync",
    });
    expect(request?.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("recall", () => {
  it("has the overlay, an answer about the user, and the agent's model", async () => {
    const { fake, provider, project } = await open();
    fake.addMemory(project, { content: "Likes green tea", user_id: "default" });
    fake.answer = "A tea drinker.";
    fake.setAgentModel(project, "hermes", MODEL);
    expect(await provider.prefetch?.("which tea?", OPTIONS)).toBe(
      [
        "[RetainDB Context]\nProfile:\n- Likes green tea\nRelevant memories:\n- None",
        "[RetainDB User Synthesis]\nA tea drinker.",
        "[RetainDB Agent Self-Model]\nPersona: Dry\nInstructions:\n- Be short",
      ].join("\n\n"),
    );
    expect(provider.recallStatus?.()).toMatchObject({ provider_label: "RetainDB", count: 1 });
  });

  it("is what arrived when single requests fail, and an error when nothing did", async () => {
    const { fake, provider, project } = await open();
    fake.addMemory(project, { content: "Likes green tea", user_id: "default" });
    fake.failNext(1, 400);
    expect(await provider.prefetch?.("which tea?", OPTIONS)).not.toBe("");
    fake.fail(400);
    await expect(Promise.resolve(provider.prefetch?.("which tea?", OPTIONS))).rejects.toThrow();
  });

  it("asks a language model as often as the cadence says", async () => {
    const asked = async (dialectic_cadence: number): Promise<number> => {
      const { fake, provider } = await open({ settings: { dialectic_cadence } });
      for (let turn = 0; turn < 4; turn += 1) await provider.prefetch?.("which tea?", OPTIONS);
      return bodies(fake, "/v1/memory/profile/default/ask").length;
    };
    expect(await asked(1)).toBe(4);
    expect(await asked(2)).toBe(2);
    expect(await asked(0)).toBe(0);
  });

  it("does not wait for the language model while the user waits", async () => {
    const { fake, provider, project } = await open();
    fake.addMemory(project, { content: "Likes green tea", user_id: "default" });
    let isAsked = false;
    const { handle } = fake as unknown as { handle: (request: { path: string }) => unknown };
    Object.assign(fake, {
      handle: (request: { path: string }) => {
        if (!request.path.endsWith("/ask")) return handle.call(fake, request);
        isAsked = true;
        return new Promise(() => {}); // never
      },
    });
    await provider.onTurnStart?.(1, "which tea?", {});
    expect(await provider.prefetch?.("which tea?", OPTIONS)).toContain("- Likes green tea");
    expect(isAsked).toBe(true);
  });
});

describe("mirrored entries", () => {
  it("are preferences for the user and facts for the memory, and follow a change and a removal", async () => {
    const { fake, provider } = await open();
    const texts = () => fake.memories("default").map(({ content, type }) => `${type}: ${content}`);
    expect(await provider.onMemoryWrite?.("add", "user", "Likes tea", {})).toEqual({ stored: true });
    await provider.onMemoryWrite?.("add", "memory", "Fires at 1240", {});
    expect(texts()).toEqual(["preference: Likes tea", "factual: Fires at 1240"]);
    await provider.onMemoryWrite?.("replace", "memory", "Fires at 1180", { old_text: "Fires at 1240" });
    expect(texts()).toEqual(["preference: Likes tea", "factual: Fires at 1180"]);
    await provider.onMemoryWrite?.("remove", "user", "", { old_text: "Likes tea" });
    expect(texts()).toEqual(["factual: Fires at 1180"]);
  });

  it("are also removed when the server gave no id for them, and when the Python edition put them there", async () => {
    const { fake, provider, project } = await open();
    fake.restrictsSyncWrites = true;
    await provider.onMemoryWrite?.("add", "user", "Likes tea", {});
    fake.addMemory(project, { content: "Likes ovens", user_id: "default" });
    expect(fake.memories("default")).toHaveLength(2);
    await provider.onMemoryWrite?.("remove", "user", "", { old_text: "Likes tea" });
    expect(fake.memories("default").map(({ content }) => content)).toEqual(["Likes ovens"]);
    await provider.onMemoryWrite?.("remove", "user", "", { old_text: "Likes ovens" });
    expect(fake.memories("default")).toEqual([]);
  });

  it("that are too long for RetainDB are reported, not cut", async () => {
    const { fake, provider } = await open();
    const report = await provider.onMemoryWrite?.("add", "user", "x".repeat(10_001), {});
    expect(report).toMatchObject({ stored: false, reason: expect.stringContaining("10000") });
    expect(fake.memories("default")).toEqual([]);
  });
});

describe("SOUL.md", () => {
  it("is sent once, and again only when it changed or for another project", async () => {
    const first = await open({ soul: " Be dry.\n" });
    const { fake, project } = first;
    const sent = (where = project) => fake.seedsOf(where, "hermes").map(({ content }) => content);
    const again = async (options: Options): Promise<void> => {
      const { provider } = await open(options, first);
      await drain(provider);
      await provider.shutdown?.({});
    };
    await drain(first.provider);
    await first.provider.shutdown?.({});
    expect(fake.seedsOf(project, "hermes")).toMatchObject([{ content: "Be dry.", source: "soul_md" }]);
    await again({});
    expect(sent()).toEqual(["Be dry."]);
    await again({ soul: "Be kind." });
    expect(sent()).toEqual(["Be dry.", "Be kind."]);
    await again({ soul: "Be dry." });
    await again({ soul: "Be kind." });
    expect(sent()).toEqual(["Be dry.", "Be kind.", "Be dry.", "Be kind."]);
    await again({ provider: { env: { RETAINDB_PROJECT: "other" } } });
    expect(sent("other")).toEqual(["Be kind."]);
    const { soul_sha256 } = JSON.parse(readFileSync(join(first.home, "retaindb.json"), "utf8"));
    expect(Object.keys(soul_sha256)).toEqual([
      `${first.fake.url} ${first.project}`,
      `${first.fake.url} other`,
    ]);
  });

  it("is sent once for users who began while the server was down", async () => {
    const first = await open({ soul: "Be dry.", agent_context: "subagent" });
    const users = [1, 2].map((id) => ({ platform: "telegram", user_id: String(id) }));
    first.fake.fail(503);
    for (const user of users) await (await open(user, first)).provider.shutdown?.({});
    first.fake.recover();
    for (const user of users) await drain((await open(user, first)).provider);
    expect(first.fake.seedsOf(first.project, "hermes")).toHaveLength(1);
  });

  it("and the check do not keep or show a password in the address", async () => {
    const { fake, home, project } = await open();
    const env = { RETAINDB_BASE_URL: fake.url.replace("http://", "http://ann:hunter2secret@") };
    const { provider } = await open({ soul: "Be dry.", provider: { env } }, { fake, home });
    await drain(provider);
    expect(fake.seedsOf(project, "hermes")).toHaveLength(1);
    expect(readFileSync(join(home, "retaindb.json"), "utf8")).not.toContain("hunter2secret");
    expect(await provider.checkConnection?.(AbortSignal.timeout(5_000))).not.toContain("hunter2secret");
  });
});

describe("users", () => {
  it("have the id of the Python edition with user_scope 'id', and share one memory with 'shared'", async () => {
    const userOf = async (user_scope: string, user_id: string): Promise<string> => {
      const { fake, provider, home } = await open({
        settings: { user_scope },
        platform: "telegram",
        user_id,
      });
      await provider.onMemoryWrite?.("add", "user", `Likes tea ${basename(home)}`, {});
      const { memories } = fake.stored() as { memories: { user: string }[] };
      return memories[0]?.user ?? "";
    };
    expect(await userOf("platform", "42")).toBe("telegram:42");
    expect(await userOf("id", "42")).toBe("42");
    expect(await userOf("shared", "42")).toBe("default");
    expect(await userOf("id", "default")).toMatch(/^default_[0-9a-f]{12}$/);
    expect(await userOf("id", "..")).toMatch(/^\.\._[0-9a-f]{12}$/);
    expect(await userOf("platform", "a/b c")).toMatch(/^telegram:a_b_c_[0-9a-f]{12}$/);
  });
});

describe("erasing", () => {
  it("a text finds derived facts too, more than one listing shows, and leaves the rest", async () => {
    const { fake, provider, project } = await open();
    fake.memoryPaths = "memories"; // lists at most 200
    for (let index = 0; index < 250; index += 1)
      fake.addMemory(project, { content: `Secret kiln ${index}`, user_id: "default" });
    fake.addMemory(project, { content: "Likes tea", user_id: "default" });
    fake.addMemory(project, { content: "Secret kiln of another", user_id: "other" });
    const report = await provider.forget?.("Secret kiln", {});
    expect(report?.erased).toBe(250);
    expect(report?.remaining).toContain("messages of conversations");
    expect(report?.remaining).not.toContain("Secret kiln");
    expect(fake.memories("default").map(({ content }) => content)).toEqual(["Likes tea"]);
    expect(fake.memories("other")).toHaveLength(1);
  });
});

describe("checks", () => {
  it("pass for a key that may only write asynchronously, and leave nothing", async () => {
    const { fake, provider } = await open();
    fake.restrictsSyncWrites = true;
    const report = await provider.selfTest?.(AbortSignal.timeout(20_000));
    expect(report?.steps.map(({ name }) => name)).toEqual(["connect", "write", "recall", "clean up"]);
    expect(fake.memories("default")).toEqual([]);
  });
});
