// What becomes of a reply of the model: whether the calls that it makes can run, and from that and the troubles so far the next step
// of the turn. Pure: turn.ts carries it out.
import { isRecord, outsideJsonOr, parseOutsideJson, pyStrip } from "@hermes-memory/core/internal/lib";
import { type AssistantMessage, madeUpId, type ToolCall } from "@hermes-memory/core/internal/message";
import type { ToolArguments } from "@hermes-memory/core/internal/tools";
import type { FinishReason } from "../../models/index.ts";

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

// The calls: either all of them can run, or there is a reason why none does.

export type CheckedCall = {
  readonly id: string;
  /** The name of an existing tool. */
  readonly name: string;
  readonly args: ToolArguments;
};

/** The result text for a call that does not run. */
type RefusedCall = { readonly id: string; readonly name: string; readonly text: string };

/** `message` is the model's message with repaired calls: known names, unique ids, arguments as text, no duplicates. */
export type CallCheck =
  | {
      readonly kind: "ok";
      readonly message: AssistantMessage;
      readonly calls: readonly CheckedCall[];
    }
  | {
      readonly kind: "unknown_tool";
      readonly message: AssistantMessage;
      readonly results: readonly RefusedCall[];
    }
  | {
      readonly kind: "bad_json";
      /** With `{}` for arguments that are not JSON: some servers refuse a history that contains them. */
      readonly message: AssistantMessage;
      readonly results: readonly RefusedCall[];
      /** The arguments are JSON, but nested deeper or longer than the limit: asking again would give the same. */
      readonly isOverLimit: boolean;
    }
  | { readonly kind: "truncated"; readonly name: string };

export type KnownTools = {
  readonly names: readonly string[];
  resolveName(name: string): string | undefined;
};

export function checkCalls(message: AssistantMessage, tools: KnownTools): CallCheck {
  const calls = readCalls(message).map((call) => {
    const known = tools.resolveName(call.name);
    return { ...call, isKnown: known !== undefined, name: known ?? call.name };
  });
  if (calls.some(({ isKnown }) => !isKnown)) {
    const results = calls.map(({ id, name, isKnown }) => {
      const text = isKnown
        ? skipped(name, "named a tool that does not exist")
        : doesNotExist(name, tools.names);
      return { id, name, text };
    });
    const named = withCalls(
      message,
      calls.map((call) => ({ ...call, text: jsonOr(call.text) })),
    );
    return { kind: "unknown_tool", message: named, results };
  }
  const parsed = withoutDuplicates(calls).map((call) => ({ ...call, given: parseArguments(call.text) }));
  const cutOff = parsed.find(({ given }) => given.kind === "truncated");
  if (cutOff !== undefined) return { kind: "truncated", name: cutOff.name };
  if (parsed.some(({ given }) => given.kind === "bad")) {
    const results = parsed.map(({ id, name, given }) => {
      const isBad = given.kind === "bad";
      const bad = isBad ? JSON.stringify({ error: badArguments(name, given.reason) }) : "";
      return { id, name, text: bad || skipped(name, "had arguments that could not be read") };
    });
    const usable = parsed.map((call) => ({ ...call, text: call.given.kind === "ok" ? call.text : "{}" }));
    const isOverLimit = parsed.some(({ given }) => given.kind === "bad" && given.isOverLimit);
    return { kind: "bad_json", message: withCalls(message, usable), results, isOverLimit };
  }
  return {
    kind: "ok",
    message: withCalls(message, parsed),
    calls: parsed.map(({ id, name, given }) => ({ id, name, args: given.kind === "ok" ? given.value : {} })),
  };
}

type ReadCall = {
  readonly call: ToolCall;
  readonly id: string;
  readonly name: string;
  /** Arguments; never blank. */
  readonly text: string;
};

function readCalls({ toolCalls }: AssistantMessage): readonly ReadCall[] {
  const taken = new Set<string>();
  return toolCalls.map((call, index) => {
    const { name } = call;
    const text = pyStrip(call.arguments) === "" ? "{}" : call.arguments;
    // With one id for two calls, their results could not be told apart.
    const id = taken.has(call.id) ? madeUpId(name, text, index) : call.id;
    taken.add(id);
    return { call, id, name, text };
  });
}

type Parsed =
  | { readonly kind: "ok"; readonly value: ToolArguments }
  | { readonly kind: "bad"; readonly reason: string; readonly isOverLimit: boolean }
  | { readonly kind: "truncated" };

function parseArguments(text: string): Parsed {
  const parsed = parseOutsideJson(text);
  if (!parsed.ok) {
    const { kind, message } = parsed.error;
    if (kind === "no_json" && !/[}\]]$/.test(pyStrip(text))) return { kind: "truncated" };
    return { kind: "bad", reason: `their text ${message}`, isOverLimit: kind !== "no_json" };
  }
  const value = unwrapped(parsed.value);
  if (value === null) return { kind: "ok", value: {} };
  if (isRecord(value)) return { kind: "ok", value };
  const reason = `they are ${Array.isArray(value) ? "a list" : `a ${typeof value}`}, not an object`;
  return { kind: "bad", reason, isOverLimit: false };
}

/** Some models encode their arguments twice: a JSON text that contains JSON. */
function unwrapped(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*\{/.test(value)) return value;
  return outsideJsonOr(value, value);
}

function jsonOr(text: string): string {
  return parseArguments(text).kind === "ok" ? text : "{}";
}

function withoutDuplicates<T extends { readonly name: string; readonly text: string }>(
  calls: readonly T[],
): T[] {
  const seen = new Set<string>();
  return calls.filter(({ name, text }) => {
    const key = `${name}\0${text}`;
    return seen.has(key) ? false : seen.add(key);
  });
}

function withCalls(
  message: AssistantMessage,
  calls: readonly Pick<ReadCall, "call" | "id" | "name" | "text">[],
): AssistantMessage {
  return {
    ...message,
    toolCalls: calls.map(({ call, id, name, text }) => {
      const { id: _id, type: _type, ...rest } = call.vendor ?? {};
      const vendor = "call_id" in rest ? { ...rest, call_id: id } : rest;
      return { id, name, arguments: text, vendor: Object.keys(vendor).length === 0 ? undefined : vendor };
    }),
  };
}

function doesNotExist(name: string, names: readonly string[]): string {
  const sorted = [...names].sort();
  const more = sorted.length > LISTED_TOOLS ? ` and ${sorted.length - LISTED_TOOLS} more` : "";
  return `Tool '${name}' does not exist. Available tools: ${sorted.slice(0, LISTED_TOOLS).join(", ")}${more}`;
}

/** More names would fill the conversation, and the request lists all tools anyway. */
const LISTED_TOOLS = 200;

function skipped(name: string, why: string): string {
  return `[${name} was skipped: another call of the same reply ${why}. Make the call again.]`;
}

function badArguments(name: string, reason: string): string {
  return `The arguments of '${name}' cannot be read: ${reason}. Nothing was run. Send one JSON object, {} when there are no arguments.`;
}
