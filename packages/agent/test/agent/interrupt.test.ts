import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { provider, recordingProvider } from "../../../core/test/fakes/providers.ts";
import { gate, type Step, serverError } from "../fakes/wires/script.ts";
import { call, lookTool, messagesOf, providerHome, storedLines, turnHome } from "./turns.ts";

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
