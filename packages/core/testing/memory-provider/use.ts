// A provider in use: its tools, recall, hooks, erasing, and whole conversations.
import { codePointLength } from "../../src/lib/index.ts";
import { MemoryManager, type MemoryProvider, readProviderHealth } from "../../src/providers/index.ts";
import { PROVIDER_RESERVED_NAMES } from "../../src/tools/index.ts";
import { about, type Suite } from "../runner.ts";
import {
  badCalls,
  FULL_METADATA,
  HOSTILE_TEXTS,
  HUGE_TEXT,
  hostileCalls,
  MESSAGES,
  QUERIES,
  type ToolCall,
} from "./inputs.ts";
import { close, hasSetting, type ProviderHarness, settle, start } from "./support.ts";

const OPTIONS = { session_id: "session-1" };

// ---- Tools: every call of a model, right or wrong, is answered with JSON

const JSON_TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];

export function toolsContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("have distinct names that every model API accepts, and none of the reserved ones", async (test) => {
    const { provider } = await start(test, harness);
    const names = ((await provider.getToolSchemas?.()) ?? []).map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(names.filter((name) => PROVIDER_RESERVED_NAMES.has(name))).toEqual([]);
  });

  it("are described, with a JSON schema for their arguments", async (test) => {
    const { provider } = await start(test, harness);
    for (const schema of (await provider.getToolSchemas?.()) ?? []) {
      expect(schema).toEqual(JSON.parse(JSON.stringify(schema)));
      expect(schema.description.trim()).not.toBe("");
      expect(schema.parameters.type).toBe("object");
      const properties = schema.parameters.properties as Record<string, { type?: unknown }>;
      expect(Object(properties)).toBe(properties); // an object
      for (const [key, { type }] of Object.entries(properties))
        about(key, () => expect(JSON_TYPES).toContain(type));
      const required = (schema.parameters.required ?? []) as readonly string[];
      expect(required.filter((key) => !Object.hasOwn(properties, key))).toEqual([]);
    }
  });

  it("are the same when they are asked for again", async (test) => {
    const { provider } = await start(test, harness);
    expect((await provider.getToolSchemas?.()) ?? []).toEqual((await provider.getToolSchemas?.()) ?? []);
  });

  it("answer with JSON when arguments are missing or of the wrong kind", async (test) => {
    const { provider } = await start(test, harness);
    for (const schema of (await provider.getToolSchemas?.()) ?? [])
      for (const call of badCalls(schema)) await expectJson(provider, call);
  });

  it("answer with JSON when arguments are huge or hostile", async (test) => {
    const { provider } = await start(test, harness);
    for (const schema of (await provider.getToolSchemas?.()) ?? [])
      for (const call of hostileCalls(schema)) await expectJson(provider, call);
  });

  it("answer several calls at once", async (test) => {
    const { provider } = await start(test, harness);
    const calls = ((await provider.getToolSchemas?.()) ?? []).flatMap((schema) =>
      hostileCalls(schema).slice(0, 3),
    );
    await Promise.all(calls.map((call) => expectJson(provider, call)));
  });

  it("settle a call of a tool that does not exist", async (test) => {
    const { provider } = await start(test, harness);
    const outcome = await settle(() => provider.handleToolCall?.("no_such_tool", {}, {}));
    expect(["answered", "failed"]).toContain(outcome);
  });

  it("settle a call whose signal is already aborted", async (test) => {
    const { provider } = await start(test, harness);
    const signal = AbortSignal.abort();
    for (const schema of (await provider.getToolSchemas?.()) ?? []) {
      const [call] = hostileCalls(schema);
      const outcome = await settle(() =>
        provider.handleToolCall?.(schema.name, call?.args ?? {}, { signal }),
      );
      expect(["answered", "failed"]).toContain(outcome);
    }
  });
}

async function expectJson(provider: MemoryProvider, { tool, args, what }: ToolCall): Promise<void> {
  let answer: unknown;
  try {
    answer = await provider.handleToolCall?.(tool, args, {});
  } catch (cause) {
    throw new Error(`${what} was not answered`, { cause });
  }
  const isObject = typeof answer === "string" && typeof JSON.parse(answer) === "object";
  if (!isObject) throw new Error(`${what} was answered with ${String(answer).slice(0, 200)}`);
  if (!String(answer).isWellFormed()) throw new Error(`${what} was answered with a lone surrogate`);
}

// ---- Recall, for any text that a user may type

const ENTRY = "The kiln in the yard is fired at 1240 degrees";

export function recallContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("is a text without fences, for any message", async (test) => {
    const { provider } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    for (const query of QUERIES) {
      await provider.onTurnStart?.(1, query, {});
      const recalled = (await provider.prefetch?.(query, OPTIONS)) ?? "";
      const what = `recall for ${JSON.stringify(query.slice(0, 60))}`;
      about(what, () => {
        expect(typeof recalled).toBe("string");
        expect(recalled).not.toMatch(/<\/?\s*memory-context\s*>/i);
        expect(recalled.isWellFormed()).toBe(true);
      });
    }
  });

  it("is empty for a blank message", async (test) => {
    const { provider } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    expect((await provider.prefetch?.("", OPTIONS)) ?? "").toBe("");
    expect((await provider.prefetch?.(" \n\t", OPTIONS)) ?? "").toBe("");
  });

  it("can be prepared for any text", async (test) => {
    const { provider } = await start(test, harness);
    for (const query of QUERIES) await provider.queuePrefetch?.(query, OPTIONS);
  });

  it("is asked for by several turns at once, and each gets a text", async (test) => {
    const { provider } = await start(test, harness);
    const queries = ["how hot is the kiln?", "which glaze do we use?", "who owns the kiln in the yard?"];
    const texts = await Promise.all(queries.map(async (query) => provider.prefetch?.(query, OPTIONS) ?? ""));
    for (const text of texts) expect(typeof text).toBe("string");
  });

  it("finds a mirrored entry in another session, later", async (test) => {
    const { provider, home } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    await close(provider);
    const { provider: later } = await start(test, harness, { home, session: "session-2" });
    const recalled = await later.prefetch?.("how hot is the kiln fired?", { session_id: "session-2" });
    expect(recalled).toContain(ENTRY);
  });

  it.skipIf(harness.cannotForget !== undefined)(
    "forgets a mirrored entry that was replaced or removed",
    async (test) => {
      const { provider } = await start(test, harness);
      await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
      const colder = "The kiln is fired at 1180 now";
      await provider.onMemoryWrite?.("replace", "memory", colder, { old_text: ENTRY });
      const changed = await provider.prefetch?.("how hot is the kiln fired?", OPTIONS);
      expect(changed).toContain("1180");
      expect(changed).not.toContain("1240");
      await provider.onMemoryWrite?.("remove", "memory", "", { old_text: colder });
      expect((await provider.prefetch?.("how hot is the kiln fired?", OPTIONS)) ?? "").not.toContain("1180");
    },
  );

  it.skipIf(!hasSetting(harness, "max_chars"))(
    "keeps to `max_chars` where there is such a setting",
    async (test) => {
      const { provider } = await start(test, harness, { settings: { max_chars: "60" } });
      for (let number = 0; number < 5; number += 1)
        await provider.onMemoryWrite?.("add", "memory", `${ENTRY}, firing ${number}`, {});
      const recalled = (await provider.prefetch?.("how hot is the kiln fired?", OPTIONS)) ?? "";
      expect(recalled).not.toBe("");
      expect(codePointLength(recalled)).toBeLessThanOrEqual(60);
      expect(codePointLength((await provider.prefetch?.(HUGE_TEXT, OPTIONS)) ?? "")).toBeLessThanOrEqual(60);
    },
  );
}

// ---- Hooks, with every kind of argument that the agent passes

export function hooksContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("takes finished turns with and without their messages", async (test) => {
    const { provider } = await start(test, harness);
    await provider.syncTurn?.("How hot is the kiln?", "1240 degrees.", OPTIONS);
    await provider.syncTurn?.("And which glaze is it?", "Celadon.", { ...OPTIONS, messages: MESSAGES });
    await provider.syncTurn?.("hm", "", { session_id: "" });
    for (let at = 0; at < HOSTILE_TEXTS.length; at += 2)
      await provider.syncTurn?.(HOSTILE_TEXTS[at] ?? "", HOSTILE_TEXTS[at + 1] ?? "", OPTIONS);
    await provider.syncTurn?.(HUGE_TEXT, HUGE_TEXT, OPTIONS);
  });

  it("takes every kind of memory write, with and without metadata", async (test) => {
    const { provider } = await start(test, harness);
    for (const target of ["memory", "user"] as const) {
      await provider.onMemoryWrite?.("add", target, `Fires the kiln (${target})`, {});
      await provider.onMemoryWrite?.("add", target, `Fires the kiln (${target})`, FULL_METADATA);
      const known = { ...FULL_METADATA, old_text: "kiln" };
      await provider.onMemoryWrite?.("replace", target, `Fires two kilns (${target})`, known);
      await provider.onMemoryWrite?.("remove", target, "", { ...FULL_METADATA, old_text: "two kilns" });
      await provider.onMemoryWrite?.("replace", target, "Replaces an unknown entry", {});
      await provider.onMemoryWrite?.("remove", target, "", { old_text: "what was never there" });
      await provider.onMemoryWrite?.("remove", target, "", {});
    }
    for (const text of HOSTILE_TEXTS) await provider.onMemoryWrite?.("add", "memory", text, {});
    await provider.onMemoryWrite?.("add", "memory", HUGE_TEXT, FULL_METADATA);
  });

  it("takes turn starts with all options and with none", async (test) => {
    const { provider } = await start(test, harness);
    const all = { remaining_tokens: 1000, model: "m", platform: "cli", tool_count: 3 };
    await provider.onTurnStart?.(1, "How hot is the kiln?", all);
    await provider.onTurnStart?.(2, "", {});
    await provider.onTurnStart?.(1_000_000, HUGE_TEXT, {});
  });

  it("takes the result of a subagent", async (test) => {
    const { provider } = await start(test, harness);
    await provider.onDelegation?.("Find the glaze", "It is celadon.", { child_session_id: "child-1" });
    await provider.onDelegation?.("", "", { child_session_id: "" });
  });

  it("answers with a text when messages are about to be summarised", async (test) => {
    const { provider } = await start(test, harness);
    expect(typeof ((await provider.onPreCompress?.(MESSAGES, {})) ?? "")).toBe("string");
    expect(typeof ((await provider.onPreCompress?.([], {})) ?? "")).toBe("string");
  });

  it("takes every way a session can change", async (test) => {
    const { provider } = await start(test, harness);
    const parent = { parent_session_id: "session-1" };
    await provider.onSessionSwitch?.("session-2", { ...parent, reset: true, reason: "new_session" });
    await provider.onSessionSwitch?.("session-1", { ...parent, reset: false, reason: "resume" });
    await provider.onSessionSwitch?.("session-3", { ...parent, reset: false, reason: "branch" });
    await provider.onSessionSwitch?.("session-4", { ...parent, reset: false, reason: "compression" });
    await provider.onSessionSwitch?.("session-4", { parent_session_id: "", reset: false, rewound: true });
    expect(typeof ((await provider.prefetch?.("how hot is the kiln?", OPTIONS)) ?? "")).toBe("string");
  });

  it("takes the end of a conversation, with list contents and without any", async (test) => {
    const { provider } = await start(test, harness);
    await provider.onSessionEnd?.([], {});
    await provider.onSessionEnd?.(MESSAGES, {});
  });

  for (const agent of ["subagent", "cron", "flush"] as const) {
    it(`stores nothing for an agent in the context '${agent}'`, async (test) => {
      const { provider, home } = await start(test, harness);
      await close(provider);
      const before = harness.stored(home);
      const { provider: other } = await start(test, harness, { home, agent_context: agent });
      await tellEverything(other);
      await close(other);
      expect(harness.stored(home)).toEqual(before);
    });
  }
}

async function tellEverything(provider: MemoryProvider): Promise<void> {
  await provider.syncTurn?.("I prefer stoneware over porcelain", "Noted.", OPTIONS);
  await provider.onMemoryWrite?.("add", "user", "Prefers stoneware", FULL_METADATA);
  await provider.onDelegation?.("Find the glaze", "It is celadon.", { child_session_id: "child-1" });
  await provider.onPreCompress?.(MESSAGES, {});
  await provider.onSessionEnd?.(MESSAGES, {});
}

// ---- Erasing a text for `hermes memory forget`, for providers with `forget`

const SECRET = "quartzite inversion 73.5";

export function forgetContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("erases the mirrored entries that contain the text, after a dry run with the same count, and nothing else", async (test) => {
    const { provider, home } = await start(test, harness);
    if (provider.forget === undefined) return;
    await provider.onMemoryWrite?.("add", "user", `The kiln needs a ${SECRET}`, {});
    await provider.onMemoryWrite?.("add", "memory", "Fires the kiln on Mondays", {});
    const counted = await provider.forget(SECRET, { dry_run: true });
    const done = await provider.forget(SECRET, {});
    expect(done.erased).toBe(counted.erased);
    await close(provider);
    const kept = JSON.stringify(harness.stored(home));
    expect(kept).toContain("Fires the kiln on Mondays");
    if (harness.cannotForget === undefined) {
      expect(counted.erased).toBe(1);
      expect(kept).not.toContain(SECRET);
    } else {
      // It reports that it cannot erase the text, without repeating it.
      const { remaining, ...rest } = done;
      expect(rest).toEqual({ erased: 0 });
      expect(typeof remaining).toBe("string");
      expect(remaining).not.toContain(SECRET);
    }
  });

  it("changes nothing in a dry run", async (test) => {
    const { provider, home } = await start(test, harness);
    if (provider.forget === undefined) return;
    await provider.onMemoryWrite?.("add", "user", `The kiln needs a ${SECRET}`, {});
    await provider.forget(SECRET, { dry_run: true });
    await close(provider);
    expect(JSON.stringify(harness.stored(home))).toContain(SECRET);
  });

  it("erases nothing in an empty store, for any text", async (test) => {
    const { provider } = await start(test, harness);
    for (const text of [SECRET, "", ...HOSTILE_TEXTS])
      expect((await provider.forget?.(text, {}))?.erased ?? 0).toBe(0);
  });
}

export function eraseUserContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("erases everything of its user, after a dry run with the same count, and nothing of others", async (test) => {
    const home = test.directory();
    const as = (user_id?: string) =>
      start(test, harness, { home, platform: "web", ...(user_id === undefined ? {} : { user_id }) });
    const { provider } = await as("ana");
    if (provider.eraseUser === undefined) return;
    const { provider: bo } = await as("bo");
    const { provider: owner } = await as();
    await bo.onMemoryWrite?.("add", "user", "Fires the kiln on Mondays", {});
    await owner.onMemoryWrite?.("add", "memory", "The crane is blue", {});
    for (const text of [`The kiln needs a ${SECRET}`, `Another ${SECRET}`])
      await provider.onMemoryWrite?.("add", "memory", text, {});
    const counted = await provider.eraseUser({ dry_run: true });
    expect(counted.erased).toBeGreaterThan(0);
    expect((await provider.eraseUser({})).erased).toBe(counted.erased);
    expect((await provider.eraseUser({})).erased).toBe(0);
    expect((await provider.prefetch?.("what does the kiln need?", OPTIONS)) ?? "").not.toContain(SECRET);
    await provider.onMemoryWrite?.("add", "memory", "A new beginning", {}); // it works on
    for (const each of [provider, bo, owner]) await close(each);
    const { provider: again } = await as("bo");
    expect((await again.eraseUser?.({ dry_run: true }))?.erased).toBeGreaterThan(0);
    await close(again);
    const kept = JSON.stringify(harness.stored(home));
    expect(kept).not.toContain(SECRET);
    expect(kept).toContain("The crane is blue");
  });
}

// ---- A conversation through the manager, two agents at once, and shutdown

export function conversationContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("goes through a conversation without one failed call", async (test) => {
    const home = test.directory();
    const manager = new MemoryManager({ home });
    const provider = harness.create(home);
    expect(manager.addProvider(provider)).toBe(true);
    await manager.initializeAll("session-1", { platform: "cli", agent_context: "primary" });
    await manager.buildSystemPrompt();
    for (const turn of [1, 2]) {
      await manager.onTurnStart(turn, "How hot is the kiln in the yard?", { model: "m" });
      await manager.prefetchAll("How hot is the kiln in the yard?", OPTIONS);
      const user = "How hot is the kiln in the yard?";
      manager.finishTurn({ ...OPTIONS, user, assistant: "1240 degrees.", messages: MESSAGES });
    }
    manager.onMemoryWrite("add", "memory", "The kiln is fired at 1240 degrees", FULL_METADATA);
    manager.onDelegation("Find the glaze", "Celadon.", { child_session_id: "child-1" });
    await manager.flushPending(20_000);
    await manager.onPreCompress(MESSAGES);
    await manager.onSessionEnd(MESSAGES);
    await manager.onSessionSwitch("session-2", { parent_session_id: "session-1", reason: "compression" });
    await manager.shutdownAll();
    const health = readProviderHealth(home, provider.name);
    const troubled = Object.entries(health?.hooks ?? {}).filter(
      ([, { failures, timeouts, skipped }]) => failures + timeouts + skipped > 0,
    );
    expect({ troubled, last_error: health?.last_error }).toEqual({ troubled: [] });
    expect(health).toMatchObject({ dropped_tasks: 0, stray_errors: 0 });
    expect(health?.hooks.initialize?.calls).toBe(1);
  });

  it("serves two agents in one home at the same time", async (test) => {
    const { provider: one, home } = await start(test, harness, { session: "session-1" });
    const { provider: other } = await start(test, harness, { home, session: "session-2" });
    await one.onMemoryWrite?.("add", "memory", "The kiln is fired at 1240 degrees", {});
    await other.onMemoryWrite?.("add", "user", "Owns a kiln called Vesuvius", {});
    await one.syncTurn?.("How hot is the kiln?", "1240 degrees.", OPTIONS);
    await close(one);
    const recalled = await other.prefetch?.("what is the kiln called?", { session_id: "session-2" });
    expect(recalled).toContain("Vesuvius");
    await close(other);
    const stored = JSON.stringify(harness.stored(home));
    expect(stored).toContain("The kiln is fired at 1240 degrees");
    expect(stored).toContain("Owns a kiln called Vesuvius");
  });

  it("can be shut down twice", async (test) => {
    const { provider } = await start(test, harness);
    await close(provider);
    await close(provider);
  });

  it("settles every call after its shutdown, and stores nothing more", async (test) => {
    const { provider, home } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", "The kiln is fired at 1240 degrees", {});
    await close(provider);
    const before = harness.stored(home);
    const [tool] = (await provider.getToolSchemas?.()) ?? [];
    const calls: readonly (() => unknown)[] = [
      () => provider.systemPromptBlock?.({}),
      () => provider.onTurnStart?.(9, "How hot is the kiln?", {}),
      () => provider.prefetch?.("How hot is the kiln in the yard?", OPTIONS),
      () => provider.queuePrefetch?.("How hot is the kiln in the yard?", OPTIONS),
      () => provider.handleToolCall?.(tool?.name ?? "", {}, {}),
      () => provider.syncTurn?.("I prefer stoneware over porcelain", "Noted.", OPTIONS),
      () => provider.onMemoryWrite?.("add", "user", "Prefers stoneware", {}),
      () => provider.onDelegation?.("task", "result", { child_session_id: "child-1" }),
      () => provider.onPreCompress?.(MESSAGES, {}),
      () => provider.onSessionSwitch?.("session-2", { parent_session_id: "", reset: false }),
      () => provider.onSessionEnd?.(MESSAGES, {}),
      () => provider.selfTest?.(AbortSignal.abort()),
    ];
    for (const call of calls) expect(["answered", "failed"]).toContain(await settle(call));
    expect(harness.stored(home)).toEqual(before);
  });

  it("keeps its store when a new instance opens and closes it", async (test) => {
    const { provider, home } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", "The kiln is fired at 1240 degrees", {});
    await close(provider);
    const before = harness.stored(home);
    const { provider: next } = await start(test, harness, { home, session: "session-2" });
    await close(next);
    expect(harness.stored(home)).toEqual(before);
  });
}
