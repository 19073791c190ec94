import { describe, expect, it } from "vitest";
import {
  checkCalls,
  judge,
  NO_TROUBLES,
  type ReplyView,
  type Troubles,
  type Verdict,
} from "../../../src/agent/turn/judge.ts";
import { message } from "../../messages.ts";

const tools = {
  names: ["memory", "todo"],
  resolveName: (name: string) => (name === "memory" ? name : undefined),
};

function view(given: Partial<ReplyView> = {}): ReplyView {
  return {
    text: "",
    finishReason: "stop",
    hasReasoning: false,
    calls: undefined,
    followsTools: false,
    earlierText: "",
    ...given,
  };
}

function calling(name: string, args: string): ReplyView["calls"] {
  const call = { id: "c1", type: "function", function: { name, arguments: args } };
  return checkCalls(message({ role: "assistant", content: "", tool_calls: [call] }), tools);
}

/** The verdicts of the same reply, given again and again. */
function repeated(reply: ReplyView, times: number): Verdict["kind"][] {
  let troubles: Troubles = NO_TROUBLES;
  return Array.from({ length: times }, () => {
    const judged = judge(reply, troubles);
    troubles = judged.troubles;
    return judged.verdict.kind;
  });
}

describe("what becomes of a reply", () => {
  it("is an answer when it has text", () => {
    expect(judge(view({ text: "hello" }), NO_TROUBLES).verdict).toEqual({
      kind: "answer",
      text: "hello",
      isEarlier: false,
    });
  });

  it("runs sound calls and forgets the trouble before them", () => {
    const { verdict, troubles } = judge(view({ calls: calling("memory", '{"action":"add"}') }), {
      ...NO_TROUBLES,
      badJson: 2,
      unknownTool: 1,
    });
    expect(verdict.kind).toBe("run_tools");
    expect(troubles).toEqual(NO_TROUBLES);
  });

  it("asks twice more for arguments that are no JSON, then answers the call with an error", () => {
    expect(repeated(view({ calls: calling("memory", "{action:add}") }), 3)).toEqual([
      "again",
      "again",
      "refuse_tools",
    ]);
  });

  it("ends the turn at the third unknown tool in a row", () => {
    let troubles: Troubles = NO_TROUBLES;
    const last = [1, 2, 3].map(() => {
      const judged = judge(view({ calls: calling("no_such_thing", "{}") }), troubles);
      troubles = judged.troubles;
      return judged.verdict.kind === "refuse_tools" && judged.verdict.isLast;
    });
    expect(last).toEqual([false, false, true]);
  });

  it("never runs calls of a reply that was cut off", () => {
    const cut = view({ finishReason: "length", calls: calling("memory", "{}") });
    expect(repeated(cut, 4)).toEqual(["again", "again", "again", "give_up"]);
    expect(repeated(view({ calls: calling("memory", '{"action":"ad') }), 4).at(-1)).toBe("give_up");
  });

  it("goes on twice with a text that was cut off, then keeps what there is", () => {
    expect(repeated(view({ finishReason: "length", text: "so far" }), 3)).toEqual([
      "continue",
      "continue",
      "give_up",
    ]);
  });

  it("takes the text that came with housekeeping calls when nothing follows", () => {
    expect(judge(view({ earlierText: "Noted." }), NO_TROUBLES).verdict).toEqual({
      kind: "answer",
      text: "Noted.",
      isEarlier: true,
    });
  });

  it("nudges once after tools and twice after thoughts, then asks three times more, then gives up", () => {
    expect(repeated(view({ followsTools: true }), 5)).toEqual([
      "nudge",
      "again",
      "again",
      "again",
      "give_up",
    ]);
    expect(repeated(view({ hasReasoning: true }), 6)).toEqual([
      "nudge",
      "nudge",
      "again",
      "again",
      "again",
      "give_up",
    ]);
    expect(repeated(view(), 4)).toEqual(["again", "again", "again", "give_up"]);
  });

  it("does not ask again when the provider withheld the reply", () => {
    expect(judge(view({ finishReason: "content_filter" }), NO_TROUBLES).verdict).toMatchObject({
      kind: "give_up",
      exit: "model_error",
    });
  });
});
