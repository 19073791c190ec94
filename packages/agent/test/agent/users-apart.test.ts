// Two users on one home, with a real database and a model over a socket: neither sees anything of the other, whichever option
// names them.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "@hermes-memory/core/internal/config";
import { pendingWritesDirectory, userMemoriesDirectory } from "@hermes-memory/core/internal/home";
import { openHome } from "@hermes-memory/core/internal/memory";
import type { InitializeOptions, MemoryProvider } from "@hermes-memory/core/internal/providers";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type Agent, type AgentOptions, createAgent, runSlashCommand } from "../../src/agent/index.ts";
import { plugIn } from "../fakes/plugged-provider.ts";
import type { ScriptedToolCall } from "../fakes/wires/script.ts";
import { type AgentHome, type AgentSetting, agentHome } from "./agent-home.ts";

type Who = Pick<AgentOptions, "user" | "platform">;

function userOf(platform: string, id: string): Who {
  return { user: { platform, id } };
}

const FORMS: readonly { readonly form: string; readonly ann: Who; readonly bo: Who }[] = [
  { form: "two ids", ann: userOf("telegram", "ann"), bo: userOf("telegram", "bo") },
  { form: "one id on two platforms", ann: userOf("telegram", "7"), bo: userOf("discord", "7") },
];

/** Words that only Ann, or only the owner of the home, has said or has in their files. */
const ANNS = /oboe|at noon|at dusk|Harbour plan|submarine/;
const OWNERS = /combination of the safe/i;

/** The model calls the tools that the user's message names, as JSON. */
async function home(setting: AgentSetting = {}): Promise<AgentHome> {
  const made = await agentHome(({ messages }) => {
    const last = messages.at(-1)?.content;
    if (typeof last !== "string" || !last.startsWith("call ")) return { text: "ok" };
    return { toolCalls: [JSON.parse(last.slice(5)) as ScriptedToolCall] };
  }, setting);
  mkdirSync(join(made.home, "memories"), { recursive: true });
  writeFileSync(join(made.home, "memories", "USER.md"), "The combination of the safe is in the drawer");
  return made;
}

async function use(agent: Agent, name: string, args: Record<string, unknown>): Promise<string> {
  const result = await agent.run(`call ${JSON.stringify({ name, arguments: args })}`);
  return (
    result.messages.flatMap(({ role, content }) => (role === "tool" ? [String(content)] : [])).at(-1) ?? ""
  );
}

async function type(agent: Agent, line: string): Promise<string> {
  const config = await loadConfig(agent.home);
  if (!config.ok) throw new Error(config.error.message);
  const reply = await runSlashCommand(agent, line, { config: config.value, confirm: async () => true });
  return JSON.stringify(reply);
}

async function annWasHere({ another }: AgentHome, who: Who): Promise<Agent> {
  const ann = await another(who);
  await use(ann, "memory", { action: "add", target: "user", content: "Plays the oboe" });
  await use(ann, "memory", { action: "add", target: "memory", content: "The zeppelin leaves at noon" });
  await ann.run("the harbour plan is ready at dusk");
  await ann.setTitle("Harbour plan");
  return ann;
}

describe.each(FORMS)("users apart: $form", ({ ann: annIs, bo: boIs }) => {
  it("a prompt has the user's own files, and no other user's", async () => {
    const made = await home();
    await annWasHere(made, annIs);
    await (await made.another(annIs)).run("hello");
    expect(made.wire.systemOf(-1)).toContain("Plays the oboe");
    expect(made.wire.systemOf(-1)).toContain("The zeppelin leaves at noon");
    const bo = await made.another(boIs);
    await bo.run("hello");
    for (const name of ["oboe", "zeppelin", "safe"]) expect(made.wire.systemOf(-1)).not.toContain(name);
    expect(await type(bo, "/memory show")).not.toMatch(ANNS);
    expect(await type(bo, "/memory history")).not.toMatch(ANNS);
  });

  it("search, resuming, titles and lists see the user's own sessions", async () => {
    const made = await home({ config: { context: { engine: "lcm" } } });
    await made.agent.run("the combination of the safe is 4711"); // the owner's
    const ann = await annWasHere(made, annIs);
    const own = await made.another(annIs);
    expect(await use(own, "session_search", { query: "harbour" })).toContain("at dusk");
    expect(await type(own, "/resume Harbour plan")).toContain(ann.sessionId);

    const bo = await made.another(boIs);
    await bo.run("hello");
    const asked = [
      ["session_search", { query: "harbour" }],
      ["session_search", { query: "harbour plan", scope: "all" }],
      ["session_search", { query: "safe OR harbour", source_filter: "cli,telegram,discord" }],
      ["session_search", {}],
      ["session_search", { session_id: ann.sessionId }],
      ["session_search", { session_id: ann.sessionId, around_message_id: 1 }],
      ["lcm_grep", { query: "harbour", session_scope: "all" }],
      ["lcm_grep", { query: "harbour", session_scope: "session", session_id: ann.sessionId }],
      ["lcm_expand", { store_id: 1 }],
    ] as const;
    for (const [tool, args] of asked) {
      const answer = await use(bo, tool, args);
      expect(answer, `${tool} ${JSON.stringify(args)}`).not.toMatch(ANNS);
      expect(answer, `${tool} ${JSON.stringify(args)}`).not.toMatch(OWNERS);
    }
    for (const line of ["/search ready", "/sessions", "/resume"]) {
      const shown = await type(bo, line);
      expect(shown).not.toMatch(ANNS);
      expect(shown).not.toContain(ann.sessionId);
    }
    for (const target of [ann.sessionId, ann.sessionId.slice(0, -1), "Harbour plan"]) {
      expect(await bo.resume(target)).toMatchObject({ ok: false, error: { kind: "not_found" } });
      await expect(made.another({ ...boIs, resume: target })).rejects.toMatchObject({
        code: "unknown-session",
      });
    }
    await expect(made.another({ ...boIs, sessionId: ann.sessionId })).rejects.toMatchObject({
      code: "unknown-session",
    });
    const next = await made.another({ ...boIs, continueLast: true });
    expect(next.sessionId).not.toBe(ann.sessionId);
    expect(await bo.setTitle("Harbour plan")).toMatchObject({ ok: true });
    expect(await ann.title()).toBe("Harbour plan");
  });
});

describe.each(FORMS)("users apart: $form", ({ ann: annIs, bo: boIs }) => {
  it("what another's agent wants to write waits for that user alone", async () => {
    const made = await home({ config: { memory: { write_approval: true } } });
    const ann = await made.another(annIs);
    await use(ann, "memory", { action: "add", target: "user", content: "Owns a submarine" });
    const directory = ann.user && userMemoriesDirectory(made.home, ann.user.platform, ann.user.userId);
    const [staged = ""] = readdirSync(pendingWritesDirectory(made.home, directory));
    const id = staged.replace(".json", "");
    const bo = await made.another(boIs);
    for (const agent of [bo, made.agent]) {
      expect(await type(agent, "/memory pending")).not.toContain("submarine");
      expect(await type(agent, "/memory")).not.toContain("submarine");
      expect(await type(agent, `/memory approve ${id}`)).toContain("no_match");
      expect(await type(agent, `/memory reject ${id}`)).toContain("no_match");
      await type(agent, "/memory approve all");
    }
    expect(await type(ann, "/memory pending")).toContain("submarine");
    expect(await type(ann, `/memory approve ${id}`)).toContain('"approved":["');
    expect(readFileSync(join(directory ?? "", "USER.md"), "utf8")).toContain("Owns a submarine");
    expect(readFileSync(join(made.home, "memories", "USER.md"), "utf8")).not.toContain("submarine");
  });

  it("a child agent's run belongs to the user on the user's platform", async () => {
    const made = await home();
    const ann = await made.another(annIs);
    await use(ann, "delegate_task", { goal: "look at the zeppelin at noon" });
    const theirs = { userId: ann.user?.userId ?? "", userPlatform: ann.user?.platform ?? "" };
    const [run, ...more] =
      (await ann.store?.listSessionsRich({ includeChildren: true, source: "subagent", ...theirs })) ?? [];
    expect(run).toMatchObject({ source: "subagent", user_id: theirs.userId });
    expect(more).toEqual([]);
    const bo = await made.another(boIs);
    for (const args of [{ query: "zeppelin", source_filter: "subagent" }, { session_id: run?.id }])
      expect(await use(bo, "session_search", args)).not.toMatch(ANNS);
  });
});

describe("who an agent works for", () => {
  const INITIALIZED: InitializeOptions[] = [];
  const provider: MemoryProvider = {
    name: "watcher",
    isAvailable: () => true,
    initialize: (_session, options) => void INITIALIZED.push(options),
    getToolSchemas: () => [],
  };

  it.each([
    [userOf("telegram", "7"), { platform: "telegram", user_id: "7" }],
    [{ user: { platform: "telegram", id: 7 } }, { platform: "telegram", user_id: "7" }],
    [
      { platform: "cron", ...userOf("telegram", "7") },
      { platform: "telegram", user_id: "7" },
    ],
  ])("%j is told to the provider as platform and id", async (who, told) => {
    const directory = tempDirectory();
    plugIn(directory, provider);
    await home({ home: directory, config: { memory: { provider: "watcher" } }, options: who });
    expect(INITIALIZED.at(-1)).toMatchObject(told);
  });

  it("the facts of one user do not reach another's prompt", async () => {
    const made = await home({ config: { memory: { provider: "holographic" } } });
    const ann = await made.another(userOf("cli", "ann"));
    await use(ann, "memory", { action: "add", target: "user", content: "Plays the oboe on Tuesdays" });
    await ann.close();
    const ask = async (who: Who): Promise<string> => {
      await (await made.another(who)).run("who plays the oboe on which day?");
      return JSON.stringify(made.wire.wireMessages(-1));
    };
    expect(await ask(userOf("cli", "ann"))).toContain("Plays the oboe on Tuesdays");
    expect(await ask(userOf("cli", "bo"))).not.toContain("Tuesdays");
    expect(await ask(userOf("telegram", "ann"))).not.toContain("Tuesdays");
    expect(existsSync(join(made.home, "memory_store.db"))).toBe(true); // the owner's
  });

  it("an option without a value is an error, and not the owner", async () => {
    const directory = tempDirectory();
    const lost = [
      { user: undefined },
      { user: null },
      { user: { platform: "telegram", id: undefined } },
      { user: { platform: "telegram", id: "" } },
      { user: { platform: "", id: "7" } },
    ] as unknown as readonly Who[];
    for (const who of lost)
      await expect(createAgent({ home: directory, env: {}, ...who })).rejects.toMatchObject({
        code: "bad-user-id",
        hint: expect.stringContaining("Pass the platform and the id"),
      });
    const former = { user: { platform: "telegram", userId: "7" } } as unknown as Who;
    await expect(createAgent({ home: directory, env: {}, ...former })).rejects.toMatchObject({
      code: "bad-option",
      hint: "Pass user: { platform, id }.",
    });
    expect(readdirSync(directory)).toEqual([]);
  });

  it("without a user it works for the owner, and as administrator over the sessions of all", async () => {
    const made = await home();
    await annWasHere(made, userOf("telegram", "ann"));
    await made.agent.run("the combination of the safe is 4711");
    const owner = await made.another({ administrator: false });
    expect(owner.user).toBeUndefined();
    expect(await use(owner, "session_search", { query: "safe" })).toContain("4711");
    expect(await use(made.agent, "session_search", { query: "harbour" })).toContain("at dusk");
    await expect(made.another({ administrator: true, ...userOf("telegram", "ann") })).rejects.toMatchObject({
      code: "bad-option",
    });
  });

  it("a store of all users is used for the one that is named", async () => {
    const made = await home();
    await annWasHere(made, userOf("telegram", "ann"));
    await using memory = openHome({ home: made.home });
    const store = await memory.administrator.sessions({ mode: "write", create: true });
    const bo = await made.another({ store, ...userOf("telegram", "bo") });
    expect(await use(bo, "session_search", { query: "harbour" })).not.toMatch(ANNS);
    expect(await store.getSession(bo.sessionId)).toMatchObject({ source: "telegram", user_id: "bo" });
  });

  it("a store of another person is an error", async () => {
    const made = await home();
    await using memory = openHome({ home: made.home });
    const store = await memory
      .user({ platform: "telegram", id: "7" })
      .sessions({ mode: "write", create: true });
    const same = await made.another({ ...userOf("telegram", "7"), store });
    expect(same.user).toEqual({ platform: "telegram", userId: "7" });
    for (const who of [
      userOf("telegram", "8"),
      userOf("discord", "7"),
      { administrator: false },
      { administrator: true },
    ])
      await expect(made.another({ ...who, store })).rejects.toMatchObject({ code: "user-mismatch" });
  });

  it("a session that does not exist for the user delegates nothing", async () => {
    const made = await home();
    await made.agent.run("hello");
    for (const sessionId of ["nosuch", made.agent.sessionId])
      await expect(
        made.another({ ...userOf("cli", "8"), delegatedBy: { sessionId, depth: 1 } }),
      ).rejects.toMatchObject({ code: "unknown-session", message: expect.stringContaining(sessionId) });
    const child = await made.another({ delegatedBy: { sessionId: made.agent.sessionId, depth: 1 } });
    await child.run("hello");
    expect(await made.agent.store?.getSession(child.sessionId)).not.toBeNull();
  });
});
