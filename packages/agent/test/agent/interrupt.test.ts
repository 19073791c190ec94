import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { provider, recordingProvider } from "../../../core/test/fakes/providers.ts";
import { gate, type Step, serverError } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";
import { call, lookTool, messagesOf, providerHome, seenTexts, storedLines, turnHome } from "./turns.ts";

const NEXT: Step = { text: "Next." };
const WAITING = /^Operation interrupted: waiting for model response \(\d+s elapsed\)\.$/;
const INTERRUPTED = {
  exit: "interrupted_by_user",
  turn_exit_reason: "interrupted_by_user",
  interrupted: true,
  completed: false,
  failed: false,
  error: null,
};

describe("an interrupt", () => {
  it("before the turn has begun stops it before anything is asked; the message is stored", async () => {
    const home = await turnHome([NEXT]);
    const result = await home.agent.run("hi", { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ ...INTERRUPTED, api_calls: 0 });
    expect(result.final_response).toMatch(WAITING);
    expect(home.wire.requests).toEqual([]);
    expect(await storedLines(home.agent)).toEqual(["user: hi"]);
    expect(await home.agent.run("again")).toMatchObject({ final_response: "Next." });
  });

  it("without a turn does nothing, neither now nor to the next one", async () => {
    const home = await turnHome([NEXT]);
    home.agent.interrupt("stop");
    home.agent.steer("left");
    expect(await home.agent.run("hi")).toMatchObject({ completed: true, pending_steer: null });
  });

  it("while the model has said nothing ends the request on the server, and says how long it took", async () => {
    const home = await turnHome([{ text: "x", pauseBefore: "forever" }, NEXT]);
    const turn = home.agent.run("hi");
    await home.wire.waitForRequest(0);
    home.agent.interrupt("look here first");
    const result = await turn;
    expect(result).toMatchObject({ ...INTERRUPTED, partial: false, interrupt_message: "look here first" });
    expect(result.final_response).toMatch(WAITING);
    await home.wire.waitForAbort(0);
    expect(await storedLines(home.agent)).toEqual(["user: hi"]);
    expect(await home.agent.run("again")).toMatchObject({ final_response: "Next.", interrupt_message: null });
  });

  it.each(["chat", "responses", "anthropic", "google"] as const)(
    "in the middle of a reply keeps what was read, marked as interrupted, on the %s wire",
    async (kind) => {
      const home = await turnHome([{ text: "The crane is blue.", stallAfterChars: 8 }, NEXT], { kind });
      const heard = Promise.withResolvers<void>();
      const turn = home.agent.run("colour?", {
        onEvent: () => {
          if (seenTexts(home.events).at(-1) === "The cran") heard.resolve();
        },
      });
      await heard.promise;
      home.agent.interrupt();
      expect(await turn).toMatchObject({ ...INTERRUPTED, final_response: "The cran", partial: true });
      await home.wire.waitForAbort(0);
      const rows = await home.agent.store?.getMessages(home.agent.sessionId);
      expect(rows?.at(-1)).toMatchObject({ content: "The cran", finish_reason: "interrupted" });
      await home.agent.run("again");
      expect(home.wire.requests[1]?.raw).toContain("The cran");
    },
  );

  it("between two attempts ends the wait", async () => {
    const home = await agentHome([serverError(), NEXT]);
    const turn = home.agent.run("hi", {
      onEvent: ({ type }) => type === "retry" && home.agent.interrupt(),
    });
    expect(await turn).toMatchObject(INTERRUPTED);
    expect(home.wire.requests).toHaveLength(1);
    await home.agent.run("again");
  });

  it("before the first tool runs none of them, and each call has its answer", async () => {
    const { given, tools } = lookTool();
    const both: Step = { toolCalls: [1, 2].map((n) => ({ name: "look", arguments: { n } })) };
    const hooks = { preToolCall: () => home.agent.interrupt() };
    const home = await turnHome([both, NEXT], { options: { tools, hooks } });
    expect(await home.agent.run("look")).toMatchObject({ ...INTERRUPTED, api_calls: 1 });
    expect(given).toEqual([]);
    const cancelled = "tool: [Tool execution cancelled — look was skipped due to user interrupt]";
    expect((await storedLines(home.agent)).slice(2)).toEqual([cancelled, cancelled]);
    expect(await home.agent.run("again")).toMatchObject({ final_response: "Next.", completed: true });
  });

  it("between two tools keeps the result of the first", async () => {
    const { given, tools } = lookTool(() => {
      home.agent.interrupt();
      return "a ship";
    });
    const both: Step = { toolCalls: [1, 2].map((n) => ({ name: "look", arguments: { n } })) };
    const home = await turnHome([both, NEXT], { options: { tools } });
    expect(await home.agent.run("look")).toMatchObject(INTERRUPTED);
    expect(given).toEqual([{ n: 1 }]);
    expect((await storedLines(home.agent)).slice(2)).toEqual([
      "tool: a ship",
      "tool: [Tool execution skipped — look was not started. User sent a new message]",
    ]);
    await home.agent.run("again");
    expect(messagesOf(home, 1).at(-1)).toBe("user: again");
  });

  it("does not wait for a tool that ignores it", async () => {
    const late = Promise.withResolvers<string>();
    const started = gate();
    const stuck = tool({
      description: "Never minds.",
      inputSchema: z.object({}),
      execute: () => {
        started.open();
        return late.promise;
      },
    });
    const home = await turnHome([call("stuck"), NEXT], { options: { tools: { stuck } } });
    const turn = home.agent.run("go");
    await started.opened;
    home.agent.interrupt();
    expect(await turn).toMatchObject(INTERRUPTED);
    late.resolve("too late");
    await home.agent.run("again");
    expect(home.wire.requests[1]?.raw).toContain("may still take effect");
    expect(home.wire.requests[1]?.raw).not.toContain("too late");
  });

  it("does not wait for memory or for a hook either", async () => {
    const stuck = (): Promise<never> => {
      home.agent.interrupt();
      return new Promise(() => {});
    };
    const reached: string[] = [];
    let place = "";
    const at = (name: string): Promise<never> | undefined => {
      if (name !== place) return undefined;
      reached.push(name);
      return stuck();
    };
    const home = await providerHome(provider({ prefetch: () => at("prefetch") ?? "" }), [], {
      config: { memory: { prefetch_timeout_s: 0 } },
      options: {
        hooks: { sessionStart: () => at("sessionStart"), preModelCall: () => at("preModelCall") },
      },
    });
    const places = ["sessionStart", "preModelCall", "prefetch"];
    for (place of places)
      expect(await home.agent.run("which colour?")).toMatchObject({ ...INTERRUPTED, api_calls: 0 });
    expect(reached).toEqual(places);
  });

  it("leaves nothing for the memory provider: no sync, no prefetch for the next turn", async () => {
    const notes = recordingProvider();
    const home = await providerHome(notes.provider, [{ text: "The crane", stallAfterChars: 4 }, NEXT]);
    const turn = home.agent.run("colour?", {
      onEvent: ({ type }) => type === "text-delta" && home.agent.interrupt(),
    });
    expect(await turn).toMatchObject({ ...INTERRUPTED, final_response: "The" });
    await home.agent.run("and the hull?");
    await home.agent.close();
    expect(notes.argsOf("syncTurn").map(([user]) => user)).toEqual(["and the hull?"]);
    expect(notes.argsOf("queuePrefetch").map(([user]) => user)).toEqual(["and the hull?"]);
  });

  it("by closing the agent stores what was said and done, and gives the session back", async () => {
    const started = gate();
    const stuck = tool({
      description: "Never minds.",
      inputSchema: z.object({}),
      execute: () => {
        started.open();
        return new Promise(() => {});
      },
    });
    const home = await turnHome([call("stuck", {}, "I wait."), NEXT], { options: { tools: { stuck } } });
    const turn = home.agent.run("go");
    await started.opened;
    await home.agent.close();
    expect(await turn).toMatchObject(INTERRUPTED);
    const next = await home.another({ resume: home.agent.sessionId });
    expect(await storedLines(next)).toEqual([
      "user: go",
      "assistant: I wait.",
      expect.stringMatching(/^tool: .*still running/),
    ]);
    expect(await next.run("again")).toMatchObject({ completed: true });
  });
});

describe("what is typed while a turn runs", () => {
  it("becomes a message of its own after the tools, in the request and in the rows", async () => {
    const { tools } = lookTool(() => {
      home.agent.steer("  to the left ");
      home.agent.steer("and down");
      return "a ship";
    });
    const home = await turnHome([call("look"), { text: "Seen." }], { options: { tools } });
    expect(await home.agent.run("look")).toMatchObject({ completed: true, pending_steer: null });
    expect(messagesOf(home, 1).slice(-2)).toEqual(["tool: a ship", "user: to the left\n\nand down"]);
    expect(await storedLines(home.agent)).toEqual([
      "user: look",
      "assistant: ",
      "tool: a ship",
      "user: to the left\n\nand down",
      "assistant: Seen.",
    ]);
  });

  it("comes back when the turn ends without reading it, however it ends", async () => {
    const home = await turnHome([{ text: "Seen." }, serverError()], {
      config: { agent: { api_max_retries: 1 } },
    });
    for (const failed of [false, true]) {
      const turn = home.agent.run("look", {
        onEvent: ({ type }) => type === "turn-start" && home.agent.steer("wait"),
      });
      expect(await turn).toMatchObject({ failed, pending_steer: "wait" });
    }
    expect((await storedLines(home.agent)).join()).not.toContain("wait");
  });

  it("is thrown away by an interrupt", async () => {
    const { tools } = lookTool(() => {
      home.agent.steer("to the left");
      home.agent.interrupt();
      return "a ship";
    });
    const home = await turnHome([call("look"), NEXT], { options: { tools } });
    expect(await home.agent.run("look")).toMatchObject({ ...INTERRUPTED, pending_steer: null });
    await home.agent.run("again");
    expect(home.wire.requests[1]?.raw).not.toContain("to the left");
  });
});
