// A home that version 0.3.0 wrote, with a gateway, imports, an outbox and a killed server, is opened and written to, and loses nothing.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openHome, openMemory } from "@hermes-memory/core/internal/memory";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { filesOf, fixtureHome, fixtureTokens } from "../../../test/fixtures/fixture-home.ts";
import { startWire } from "../../agent/test/fakes/wires/wire-in-test.ts";
import { runningGateway } from "../../gateway/test/running-gateway.ts";
import { FakeMem0 } from "../../providers/test/fakes/servers/mem0.ts";
import { runHere } from "./cli/run.ts";
import { expectNothingLost, rowsOf } from "./kept-home.ts";

const SESSIONS = 28;
const MESSAGES = 191;
const BO = "api-0ae28b36d50d78fc3ea5";
const NOTHING_LISTENS = "http://127.0.0.1:2";
/** The newest reply of each chat that goes on with `previous_response_id`. */
const RESPONSES: Readonly<Record<string, string>> = {
  "Ada agent": "resp_hm639763ae11c046479395c9e3f53da978",
  "Bo agent": "resp_hm5a08d6f9df674f9684149cc8645df7da",
  "Ada proxy": "resp_hm700cea75b7be4f58aa7c8b914f4d06ac",
  "Bo proxy": "resp_hm26ad879007af4f43b17e3159c65596f9",
};
/** Of one conversation in opencode, which 0.3.0 stored twice, from the gateway and from an import. */
const isOpencode = ({ session_id }: Readonly<Record<string, unknown>>): boolean =>
  String(session_id).includes("opencode-ses_");

async function hermes(home: string, ...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await runHere([...args, "--json"], { home, env: { HOME: dirname(home) } });
  expect(code, `${args.join(" ")}: ${stdout}${stderr}`).toBe(0);
  return JSON.parse(stdout);
}

function replaceIn(path: string, text: string, by: string): void {
  writeFileSync(path, readFileSync(path, "utf8").replace(text, by));
}

/** The outbox of the home can be delivered. */
async function withMem0(home: string): Promise<FakeMem0> {
  const fake = await new FakeMem0({ edition: "oss" }).start();
  onTestFinished(() => fake.stop());
  replaceIn(join(home, "mem0.json"), NOTHING_LISTENS, fake.url);
  return fake;
}

describe("a home of version 0.3.0", () => {
  const own = new Set(Object.keys(process.env));
  // Opening the home put its `.env` into the environment, which the next test file shares.
  afterAll(() => {
    for (const name of Object.keys(process.env)) if (!own.has(name)) delete process.env[name];
  });

  it("is read whole: entries, archive, staged writes, conversations, outbox, curator's runs", async () => {
    const home = fixtureHome("0.3.0");
    {
      await using memory = openHome({ home });
      const own = await memory.administrator.curated();
      expect(own?.warnings).toEqual([]);
      expect(own?.entries("memory")).toHaveLength(10);
      expect(own?.entries("user")).toHaveLength(4);
      const bo = await memory.user({ platform: "api", id: "bo" }).curated();
      expect(bo?.entries("user")).toEqual(["Bo repairs sluice gates."]);
      const store = await memory.administrator.sessions({ mode: "write", create: true });
      expect(await store.sessionCount()).toBe(SESSIONS);
      expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
      expect((await store.searchMessages("m3x3", { limit: 5 })).map(({ session_id }) => session_id)).toEqual([
        "20260903_101500_000003",
      ]);
    }
    expect(rowsOf(home).messages).toHaveLength(MESSAGES);
    expect(await hermes(home, "memory", "outbox", "list")).toMatchObject({
      lanes: [{ waiting: 62 }, { user: "api:bo", waiting: 12 }, { user: "open-webui:cleo", waiting: 2 }],
    });
    expect(await hermes(home, "memory", "pending")).toMatchObject({ pending: [{}, {}] });
    expect(await hermes(home, "curator", "rollback", "--list")).toMatchObject({ runs: [{}], backups: [{}] });
  });

  it("is served with its tokens, and every chat goes on in its session", async () => {
    const home = fixtureHome("0.3.0");
    const wire = await startWire("chat", ({ index }) => ({ text: `The pond stands at ${index} cm.` }));
    replaceIn(join(home, "config.yaml"), `${NOTHING_LISTENS}/v1`, wire.url);
    const [files, rows, tokens] = [filesOf(home), rowsOf(home), fixtureTokens()];
    const gateway = await runningGateway({ home });
    const post = async (path: string, as: string, body: object, headers: Record<string, string> = {}) => {
      const response = await gateway.call(path, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${as}`, ...headers },
        body: JSON.stringify({ model: "hermes", ...body }),
      });
      expect(response.status, await response.clone().text()).toBe(200);
    };
    const listOf = (session: unknown) =>
      rows.messages
        .filter(({ session_id }) => session_id === session)
        .map(({ role, content }) => ({ role, content }));
    const expected: string[] = [];
    /** The question says in which session it has to be. */
    const next = (session: unknown) => {
      expected.push(String(session));
      return { role: "user", content: `in ${String(session)}` };
    };
    for (const mode of ["agent", "proxy"])
      for (const [who, as, prefix] of [
        ["Ada", tokens.owner, "chat."],
        ["Bo", tokens.user, `chat.${BO}.`],
      ] as const) {
        const path = `/${mode}/v1/chat/completions`;
        const named = { "x-hermes-session-id": `${mode}-plans` };
        await post(path, as, { messages: [next(`${prefix}${mode}-plans`)] }, named);
        const found = (kind: string) =>
          rows.messages.find(({ content }) => String(content).startsWith(`${who} asks (${mode}, ${kind})`))
            ?.session_id;
        await post(path, as, { messages: [...listOf(found("unnamed")), next(found("unnamed"))] });
        const input = next(found("response id")).content;
        const previous_response_id = RESPONSES[`${who} ${mode}`];
        await post(`/${mode}/v1/responses`, as, { input, previous_response_id });
      }
    // Killed while it answered: the question that has no reply is there.
    expect(listOf("chat.flour-loft").at(-1)?.role).toBe("user");
    const loft = { "x-hermes-session-id": "flour-loft" };
    await post("/agent/v1/chat/completions", tokens.owner, { messages: [next("chat.flour-loft")] }, loft);
    const cleo = "chat.open-webui-91dd8de1eef8493a5256.open-webui-chat-of-cleo";
    const ofCleo = { "x-openwebui-user-id": "cleo", "x-openwebui-chat-id": "chat-of-cleo" };
    const toCleo = { messages: [...listOf(cleo), next(cleo)] };
    await post("/agent/v1/chat/completions", tokens.namesUsers, toCleo, ofCleo);
    const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    expect((await gateway.call("/api/sessions?user=api:bo", bearer(tokens.admin))).status).toBe(200);
    expect((await gateway.call("/api/sessions?user=api:bo", bearer(tokens.owner))).status).toBe(403);
    expect((await gateway.call("/api/sessions", bearer(`${tokens.owner.slice(0, -1)}_`))).status).toBe(401);
    await gateway.close();

    const after = rowsOf(home);
    expect(after.sessions).toEqual(rows.sessions);
    expect(after.messages.slice(0, MESSAGES)).toEqual(rows.messages);
    const added = after.messages.slice(MESSAGES);
    expect(added.map(({ session_id }) => session_id).toSorted()).toEqual(
      expected.flatMap((session) => [session, session]).toSorted(),
    );
    for (const { role, session_id, content } of added)
      if (role === "user") expect(content).toBe(`in ${session_id}`);
    expectNothingLost(
      home,
      files,
      /^(sessions\/session_chat\..*|gateway\/token-use|token_calibration)\.json$/,
    );
  });

  it("finds nothing new when the transcripts are imported again", async () => {
    const home = fixtureHome("0.3.0");
    const [files, before] = [filesOf(home), rowsOf(home)];
    const report = await hermes(home, "sessions", "import", "--from", "claude-code,codex,opencode");
    expect(report).toMatchObject({
      sources: [2, 1, 1].map((files) => ({ files, sessions_added: 0, messages_added: 0, errors: [] })),
    });
    const after = rowsOf(home);
    const others = (rows: typeof before) => rows.messages.filter((row) => !isOpencode(row));
    expect(others(after)).toEqual(others(before));
    const texts = (rows: typeof before) => rows.messages.filter(isOpencode).map(({ content }) => content);
    expect(texts(before)).toHaveLength(20);
    expect(new Set(texts(after))).toEqual(new Set(texts(before)));
    // 0.3.0 made two sessions of it: the import merges the second into the one that the gateway goes on with.
    const ids = after.messages.filter(isOpencode).map(({ session_id }) => session_id);
    expect(new Set(ids)).toEqual(new Set(["chat.opencode-ses_5d1c0f3a2ffeMillGaugeAda01"]));
    expect(ids).toHaveLength(10);
    expectNothingLost(home, files);
    await using memory = await openMemory({ home });
    const sessionId = "opencode-ses_5d1c0f3a2ffeMillGaugeAda01";
    const chat = await memory.owner.openChat(sessionId, { source: "opencode", sessionId });
    expect(chat).toMatchObject({ sessionId: `chat.${sessionId}` });
  });

  it("takes back an import of notes, a change of an entry and a run of the curator", async () => {
    const home = fixtureHome("0.3.0");
    const [files, rows] = [filesOf(home), rowsOf(home)];
    const history = (await hermes(home, "memory", "history", "--limit", "100")) as {
      id: string;
      origin: string;
      action: string;
    }[];
    const id = (of: Partial<(typeof history)[number]>): string =>
      history.find((change) => Object.entries(of).every(([key, value]) => Reflect.get(change, key) === value))
        ?.id ?? "";
    await hermes(home, "curator", "rollback", "--yes");
    expect(filesOf(home).has("skills/grind-flour/SKILL.md")).toBe(true);
    await hermes(home, "memory", "undo", id({ origin: "import:markdown" }));
    await hermes(home, "memory", "undo", id({ action: "replace" }));
    const memories = join(home, "memories");
    const profile = readFileSync(join(memories, "USER.md"), "utf8");
    expect(profile).toContain("prefers metric units and short answers");
    expect(profile).not.toContain("loft key");
    expect(readFileSync(join(memories, "MEMORY.md"), "utf8")).toContain("Note 12: gauge 12 of the old mill");
    expect(rowsOf(home)).toEqual(rows);
    expectNothingLost(home, files, /^skills\/(\.archive\/|\.curator|\.history\/)/);
  });

  it("sends its outbox when the server is back", async () => {
    const home = fixtureHome("0.3.0");
    const fake = await withMem0(home);
    expect(await hermes(home, "memory", "outbox", "send")).toMatchObject({ sent: 76, left: 0, dead: 0 });
    expect(JSON.stringify(fake.requests.map(({ body }) => body))).toContain(
      "Cleo asks when flour is ground.",
    );
  });

  it("erases a user, and nothing of anybody else", async () => {
    const home = fixtureHome("0.3.0");
    await withMem0(home);
    const [files, before] = [filesOf(home), rowsOf(home)];
    {
      await using memory = await openMemory({ home });
      const erased = await memory.user({ platform: "api", id: "bo" }).erase();
      expect(erased).toMatchObject({ entries: 2, sessions: 6, messages: 24, remaining: [] });
    }
    const after = rowsOf(home);
    const ofBo = new Set(before.sessions.filter(({ user_id }) => user_id === "bo").map(({ id }) => id));
    expect(after.sessions).toEqual(before.sessions.filter(({ id }) => !ofBo.has(id)));
    expect(after.messages).toEqual(before.messages.filter(({ session_id }) => !ofBo.has(session_id)));
    const left = filesOf(home);
    expect([...left.keys()].filter((path) => path.includes(BO) && !path.endsWith(".lock"))).toEqual([]);
    expectNothingLost(home, files, new RegExp(BO));
  });
});
