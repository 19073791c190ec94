// Every exit of a turn gives a complete result, stores the messages, releases the lease and leaves a working agent.

import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import type { AgentHooks, TurnExit, TurnResult } from "../../src/agent/index.ts";
import { badKey, overflow, type Reply, type Step } from "../fakes/wires/script.ts";
import type { AgentSetting } from "./agent-home.ts";
import { call, lookTool, turnHome } from "./turns.ts";

const KEYS =
  `final_response last_reasoning messages client_tool_calls error_kind retry_after_seconds api_calls completed turn_exit_reason exit failed partial interrupted
  error hint response_transformed model provider base_url input_tokens output_tokens cache_read_tokens cache_write_tokens
  reasoning_tokens prompt_tokens completion_tokens total_tokens last_prompt_tokens estimated_cost_usd cost_status
  cost_source session_id compression_exhausted pending_steer interrupt_message`.split(/\s+/);

const EMPTY: Reply = { text: "" };
const PIECE: Reply = { text: "and on ", finish: "length" };
const CUT: Reply = { text: "abcdefgh", failAfterChars: 4 };
const NOTING = call("todo", { todos: [{ id: "1", content: "x", status: "pending" }] }, "Noted.");

type Case = {
  readonly script: readonly Step[];
  readonly setting?: AgentSetting;
  readonly isInterrupted?: true;
};

const CASES: Partial<Record<TurnExit, Case>> = {
  text_response: { script: [{ text: "Yes." }] },
  fallback_prior_turn_content: { script: [NOTING, EMPTY] },
  partial_stream_recovery: { script: [CUT, CUT, CUT] },
  truncated_response: { script: [PIECE, PIECE, PIECE] },
  empty_response_exhausted: { script: [EMPTY, EMPTY, EMPTY, EMPTY] },
  invalid_tool_calls: { script: [call("zzz"), call("zzz"), call("zzz")] },
  max_iterations_reached: {
    script: [call("look"), { text: "One look." }, { text: "Next." }],
    setting: { options: { maxTurns: 1 } },
  },
  model_error: { script: [badKey()] },
  context_overflow: { script: [overflow()] },
  compaction_disabled: { script: [overflow()], setting: { config: { compression: { enabled: false } } } },
  interrupted_by_user: { script: [{ text: "The crane", stallAfterChars: 4 }], isInterrupted: true },
};

describe.each(Object.entries(CASES))(
  "a turn that ends as %s",
  (exit, { script, setting = {}, isInterrupted }) => {
    it("gives the whole result, stores everything, frees the session and is followed by another", async () => {
      const ends: TurnResult[] = [];
      const hooks: AgentHooks = { turnEnd: (result) => void ends.push(result) };
      const { tools } = lookTool();
      const home = await turnHome([...script, { text: "Next." }].slice(0, script.length + 1), {
        ...setting,
        options: { tools, hooks, ...setting.options },
      });
      const { agent, events } = home;
      const result = await agent.run("hi", {
        onEvent: ({ type }) => isInterrupted && type === "text-delta" && agent.interrupt(),
      });
      expect(result.exit).toBe(exit);
      expect(Object.keys(result).sort()).toEqual([...KEYS].sort());
      expect(Object.values(result)).not.toContain(undefined);
      expect(ends).toEqual([result]);
      expect(events.filter(({ type }) => type === "turn-end")).toEqual([{ type: "turn-end", result }]);
      expect(agent.isRunning).toBe(false);

      expect(agent.messages.every(({ meta }) => typeof meta.rowId === "number")).toBe(true);
      expect(agent.messages.some(({ meta }) => meta.ephemeral !== undefined)).toBe(false);
      await using store = await openSessionStore({ path: `${home.home}/state.db` });
      expect(await store.getMessages(agent.sessionId)).toHaveLength(agent.messages.length);
      expect(await store.acquireSessionLease(agent.sessionId, "somebody", { ttl: 60 })).toMatchObject({
        acquired: true,
      });
      await store.releaseSessionLease(agent.sessionId, "somebody");

      const next = await agent.run("go on");
      expect(next).toMatchObject({ final_response: "Next.", failed: false, error: null, hint: null });
      expect(ends).toHaveLength(2);
    });
  },
);

const HOOKS = ["preModelCall", "transformOutput", "turnEnd", "sessionStart", "reviewDue"] as const;
const throwing = (): never => {
  throw new Error("not today");
};

describe("a program that listens", () => {
  it.each(HOOKS)("and throws in %s changes nothing", async (hook) => {
    const script: Step[] = [call("look"), { text: "Seen." }, { text: "Next." }];
    const config = { memory: { nudge_interval: 1 } };
    const run = async (hooks: AgentHooks): Promise<unknown> => {
      const { agent, events, wire } = await turnHome(script, {
        config,
        options: { tools: lookTool().tools, hooks },
      });
      const results = [await agent.run("look"), await agent.run("next")];
      const { exit, final_response, completed, response_transformed } = results[0] ?? {};
      const told = events.map(({ type }) => type);
      return { exit, final_response, completed, response_transformed, told, calls: wire.requests.length };
    };
    const plain = await run({});
    expect(await run({ [hook]: throwing })).toEqual(plain);
    expect(await run({ [hook]: () => Promise.reject(new Error("later")) })).toEqual(plain);
  });

  it("and throws or rejects at every event changes nothing", async () => {
    const home = await turnHome([call("look"), { text: "Seen." }, { text: "Next." }], {
      options: { tools: lookTool().tools, onEvent: throwing },
    });
    expect(await home.agent.run("look", { onEvent: throwing })).toMatchObject({ final_response: "Seen." });
    const rejecting = async (): Promise<void> => throwing();
    expect(await home.agent.run("next", { onEvent: rejecting })).toMatchObject({ completed: true });
  });

  it("to one turn with the agent's own listener hears it once more, and the agent's stays", async () => {
    const heard: string[] = [];
    const listener = ({ type }: { readonly type: string }): void => void heard.push(type);
    const home = await turnHome([{ text: "One." }, { text: "Two." }], { options: { onEvent: listener } });
    await home.agent.run("one", { onEvent: listener });
    await home.agent.run("two");
    expect(heard.filter((type) => type === "turn-end")).toHaveLength(3);
  });

  it("with transformOutput changes what is returned, and not what is stored", async () => {
    const hooks: AgentHooks = { transformOutput: (text) => text.toUpperCase() };
    const { agent } = await turnHome([{ text: "Yes." }], { options: { hooks } });
    expect(await agent.run("hi")).toMatchObject({ final_response: "YES.", response_transformed: true });
    expect(agent.messages.at(-1)?.content).toBe("Yes.");
  });
});

describe("a session that another process works on", () => {
  it("answers who has it, and leaves the list and the rows alone", async () => {
    const { agent } = await turnHome([{ text: "One." }, { text: "Two." }]);
    await agent.run("one");
    await agent.store?.acquireSessionLease(agent.sessionId, "pid=1:host=elsewhere:nonce=00", { ttl: 60 });
    const result = await agent.run("two");
    expect(Object.keys(result).sort()).toEqual([...KEYS].sort());
    expect(result).toMatchObject({
      exit: "session_busy",
      failed: true,
      error: expect.stringContaining("elsewhere"),
    });
    expect(agent.messages).toHaveLength(2);
    await agent.store?.releaseSessionLease(agent.sessionId, "pid=1:host=elsewhere:nonce=00");
    expect(await agent.run("two")).toMatchObject({ final_response: "Two." });
  });
});
