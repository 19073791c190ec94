// `memory` and `session_search` in the agent's table.
import { join } from "node:path";
import type { CommittedWrite } from "@hermes-memory/core/curated";
import {
  DEFAULT_SESSION_SEARCH_SETTINGS,
  openSessionStore,
  type SessionStore,
} from "@hermes-memory/core/sessions";
import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryHome } from "../../../../core/test/fakes/memory-home.ts";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { memoryAgentTool, sessionSearchAgentTool } from "../../../src/agent/tools/index.ts";
import { callContext } from "../../fakes/agent-tools.ts";
import { message } from "../../messages.ts";

type Written = { readonly write: CommittedWrite; readonly callId: string };

async function memoryOf(home: MemoryHome, writeApproval = false, approve?: () => string) {
  const writes: Written[] = [];
  const tool = memoryAgentTool({
    store: await home.open(),
    home: home.home,
    writeApproval,
    approve,
    sessionId: () => "s1",
    onWrite: (write, { callId }) => writes.push({ write, callId }),
  });
  return { tool, writes };
}

describe("memory", () => {
  it("writes, and tells the agent which call did", async () => {
    const home = new MemoryHome();
    const { tool, writes } = await memoryOf(home);
    const args = { action: "add", target: "memory", content: "The kiln runs at 1240 degrees." };
    const outcome = await tool.run(args, callContext({ callId: "call_7" }));
    expect(JSON.parse(outcome.text)).toMatchObject({ success: true });
    expect(outcome.isError).toBeUndefined();
    expect(home.text()).toBe("The kiln runs at 1240 degrees.");
    expect(writes).toMatchObject([{ callId: "call_7", write: { target: "memory", op: { action: "add" } } }]);
    expect(home.journal()[0]).toMatchObject({ session: "s1" });
  });

  it("tells nothing about refused, duplicate and staged writes", async () => {
    const home = new MemoryHome();
    const { tool, writes } = await memoryOf(home);
    const args = { action: "add", target: "memory", content: "A fact." };
    await tool.run(args, callContext());
    await tool.run(args, callContext());
    const refused = await tool.run(
      { action: "remove", target: "memory", old_text: "nowhere" },
      callContext(),
    );
    expect(refused.isError).toBe(true);
    const staging = await memoryOf(home, true);
    await staging.tool.run({ ...args, content: "Another fact." }, callContext());
    expect([writes.length, staging.writes.length]).toEqual([1, 0]);
  });

  it("counts failures by turn, and tells the model to stop after three", async () => {
    const { tool } = await memoryOf(new MemoryHome());
    const fail = async (turnId: string) => {
      const args = { action: "remove", target: "memory", old_text: "nowhere" };
      const { text } = await tool.run(args, callContext({ taskId: "same", turnId }));
      return (JSON.parse(text) as { done?: boolean }).done;
    };
    const answers = [await fail("a"), await fail("a"), await fail("a"), await fail("a"), await fail("b")];
    expect(answers).toEqual([undefined, undefined, true, true, undefined]);
  });

  it("asks the person in front of the screen when writes need approval", async () => {
    const home = new MemoryHome();
    const { tool, writes } = await memoryOf(home, true, () => "once");
    await tool.run({ action: "add", target: "user", content: "Likes tea." }, callContext());
    expect(writes).toHaveLength(1);
  });

  it("says that it is unavailable when there is no store", async () => {
    const tool = memoryAgentTool({
      store: undefined,
      home: tempDirectory(),
      writeApproval: false,
      sessionId: () => "s1",
      onWrite: () => {},
    });
    const outcome = await tool.run({ action: "add" }, callContext());
    expect(outcome).toEqual({
      text: '{"error":"Memory is not available. It may be disabled in config or this environment.","success":false}',
      isError: true,
    });
  });
});

async function storeIn(home: string): Promise<SessionStore> {
  const store = await openSessionStore({ path: join(home, "state.db") });
  onTestFinished(() => store.close());
  return store;
}

function searchOf(home: string, store: SessionStore | undefined) {
  return sessionSearchAgentTool({
    store: () => store,
    home,
    settings: DEFAULT_SESSION_SEARCH_SETTINGS,
    scope: {},
  });
}

describe("session_search", () => {
  it("leaves out what is still in the live list, by the rows of its messages", async () => {
    const home = tempDirectory();
    const store = await storeIn(home);
    await store.createSession("s1", { source: "cli" });
    const gone = await store.appendMessage("s1", {
      role: "user",
      content: "the walrus sleeps in the harbour",
    });
    const live = await store.appendMessage("s1", {
      role: "user",
      content: "the walrus wakes in the harbour",
    });
    const messages = [
      message({ role: "user", content: "x" }, { rowId: live }),
      message({ role: "user", content: "not stored yet" }),
    ];
    const outcome = await searchOf(home, store).run(
      { query: "walrus", scope: "lineage" },
      callContext({ sessionId: "s1", messages }),
    );
    const { results } = JSON.parse(outcome.text) as { results: { match_message_id: number }[] };
    expect(results.map(({ match_message_id: id }) => id)).toEqual([gone]);
  });

  it("gives a formatted error with the cause when the database is unavailable", async () => {
    const outcome = await searchOf(tempDirectory(), undefined).run({ query: "x" }, callContext());
    expect(outcome.isError).toBe(true);
    expect(JSON.parse(outcome.text)).toMatchObject({
      success: false,
      error: expect.stringContaining("not available"),
    });
  });

  it("passes the profile on", async () => {
    const home = tempDirectory();
    const outcome = await searchOf(home, await storeIn(home)).run(
      { query: "x", profile: "nobody" },
      callContext(),
    );
    expect(JSON.parse(outcome.text)).toMatchObject({
      success: false,
      error: expect.stringContaining("profile 'nobody'"),
    });
  });

  it("offers summaries only when they are on and a model is there", () => {
    const settings = { ...DEFAULT_SESSION_SEARCH_SETTINGS, summarize: "on_request" as const };
    const deps = { store: () => undefined, home: "/nowhere", settings, scope: {} };
    const propertiesWith = (summarizer?: { complete: () => Promise<string> }): unknown =>
      sessionSearchAgentTool({ ...deps, summarizer }).schema.parameters.properties;
    expect(propertiesWith()).not.toHaveProperty("summarize");
    expect(propertiesWith({ complete: async () => "" })).toHaveProperty("summarize");
  });
});
