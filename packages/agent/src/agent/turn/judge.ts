// Decides the next step of a turn from a reply of the model and the troubles so far. Pure: turn.ts carries it out.
import type { AssistantMessage } from "@hermes-memory/core/internal/message";
import type { FinishReason } from "../../models/index.ts";
import type { CallCheck, CheckedCall, RefusedCall } from "../tools/check-calls.ts";

export type ReplyView = {
  /** The streamed text, without blanks around it and without fences; of all pieces, when it came in several. */
  readonly text: string;
  readonly finishReason: FinishReason;
  readonly hasReasoning: boolean;
  /** Undefined when it makes no calls. */
  readonly calls: CallCheck | undefined;
  /** The newest message before it is a tool result. */
  readonly followsTools: boolean;
  /** Text that came with calls to housekeeping tools only, earlier in this turn. */
  readonly earlierText: string;
  /** The caller's own limit for a reply. */
  readonly limitTokens?: number | undefined;
};

/** How often each kind of trouble has come in a row. */
export type Troubles = {
  readonly badJson: number;
  readonly unknownTool: number;
  readonly cutCalls: number;
  readonly cutTexts: number;
  readonly nudges: number;
  readonly empties: number;
};

export const NO_TROUBLES: Troubles = Object.freeze({
  badJson: 0,
  unknownTool: 0,
  cutCalls: 0,
  cutTexts: 0,
  nudges: 0,
  empties: 0,
});

export type Verdict =
  | { readonly kind: "answer"; readonly text: string; readonly isEarlier: boolean }
  | { readonly kind: "run_tools"; readonly message: AssistantMessage; readonly calls: readonly CheckedCall[] }
  /** The calls are answered with error texts and do not run. `isLast`: the turn ends as well. */
  | {
      readonly kind: "refuse_tools";
      readonly message: AssistantMessage;
      readonly results: readonly RefusedCall[];
      readonly isLast: boolean;
    }
  /** The same request once more; the text of this reply is dropped. */
  | { readonly kind: "again" }
  /** The model is asked to continue the text. */
  | { readonly kind: "continue" }
  | { readonly kind: "nudge"; readonly text: string }
  | GiveUp;

type GiveUp = {
  readonly kind: "give_up";
  readonly exit: "truncated_response" | "empty_response_exhausted" | "model_error";
  readonly why: string;
};

export type Judgement = { readonly verdict: Verdict; readonly troubles: Troubles };

const MOST_IN_A_ROW = 3;
const MOST_CONTINUATIONS = 2;
const MOST_NUDGES = 2;
const MOST_EMPTY_RETRIES = 3;

export function judge(reply: ReplyView, troubles: Troubles): Judgement {
  return reply.calls === undefined ? judgeText(reply, troubles) : judgeCalls(reply.calls, reply, troubles);
}

function giveUp(exit: GiveUp["exit"], why: string, troubles: Troubles): Judgement {
  return { verdict: { kind: "give_up", exit, why }, troubles };
}

function judgeCalls(calls: CallCheck, { finishReason }: ReplyView, before: Troubles): Judgement {
  // A reply that was cut off may lack some of the calls that the model meant to make, so none of them runs.
  if (finishReason === "length" || calls.kind === "truncated") {
    const troubles = { ...before, cutCalls: before.cutCalls + 1 };
    if (troubles.cutCalls <= MOST_IN_A_ROW) return { verdict: { kind: "again" }, troubles };
    const why =
      finishReason === "length"
        ? "The model's tool calls were cut off again and again, so nothing was run. Raise agent.max_output_tokens, or ask for smaller steps."
        : "The arguments of the model's tool calls ended too early again and again, so nothing was run. Try again, or use another model.";
    return giveUp("truncated_response", why, troubles);
  }
  const { message } = calls;
  switch (calls.kind) {
    case "ok": {
      const troubles = { ...NO_TROUBLES, nudges: before.nudges };
      return { verdict: { kind: "run_tools", message, calls: calls.calls }, troubles };
    }
    case "unknown_tool": {
      const troubles = { ...before, unknownTool: before.unknownTool + 1 };
      const isLast = troubles.unknownTool >= MOST_IN_A_ROW;
      return { verdict: { kind: "refuse_tools", message, results: calls.results, isLast }, troubles };
    }
    case "bad_json": {
      const troubles = { ...before, badJson: before.badJson + 1 };
      if (troubles.badJson < MOST_IN_A_ROW && !calls.isOverLimit)
        return { verdict: { kind: "again" }, troubles };
      const verdict = { kind: "refuse_tools", message, results: calls.results, isLast: false } as const;
      return { verdict, troubles: { ...troubles, badJson: 0 } };
    }
    default:
      return calls satisfies never;
  }
}

function judgeText(reply: ReplyView, before: Troubles): Judgement {
  const { text, finishReason, limitTokens } = reply;
  if (finishReason === "content_filter" && text === "") {
    const why =
      "The model's provider withheld the reply because of its content rules. Put the request another way.";
    return giveUp("model_error", why, before);
  }
  if (text === "") return judgeEmpty(reply, before);
  if (finishReason !== "length")
    return { verdict: { kind: "answer", text, isEarlier: false }, troubles: before };
  const troubles = { ...before, cutTexts: before.cutTexts + 1 };
  if (limitTokens !== undefined) {
    const why = `The reply ends at the limit of ${limitTokens} tokens that the request set.`;
    return giveUp("truncated_response", why, troubles);
  }
  if (troubles.cutTexts <= MOST_CONTINUATIONS) return { verdict: { kind: "continue" }, troubles };
  const why = "The reply was cut off three times; what has arrived is kept. Raise agent.max_output_tokens.";
  return giveUp("truncated_response", why, troubles);
}

function judgeEmpty({ earlierText, followsTools, hasReasoning }: ReplyView, before: Troubles): Judgement {
  if (earlierText !== "")
    return { verdict: { kind: "answer", text: earlierText, isEarlier: true }, troubles: before };
  const mayNudge =
    before.nudges === 0 ? followsTools || hasReasoning : hasReasoning && before.nudges < MOST_NUDGES;
  if (mayNudge) {
    const text = followsTools
      ? "Your last reply was empty. Look at the tool results above and answer, or go on with the next step."
      : "Your last reply held no text. Give your answer now.";
    return { verdict: { kind: "nudge", text }, troubles: { ...before, nudges: before.nudges + 1 } };
  }
  const troubles = { ...before, empties: before.empties + 1 };
  if (troubles.empties <= MOST_EMPTY_RETRIES) return { verdict: { kind: "again" }, troubles };
  const why = "The model gave no text, however often it was asked. Try again, or use another model.";
  return giveUp("empty_response_exhausted", why, troubles);
}
