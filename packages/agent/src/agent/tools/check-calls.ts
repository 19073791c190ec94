// Checks the tool calls that a model wrote: either all of them can run, or there is a reason why none does. Pure; whether to
// ask the model again is decided by turn/judge.ts.
import { isRecord, outsideJsonOr, parseOutsideJson, pyStrip } from "@hermes-memory/core/internal/lib";
import { type AssistantMessage, madeUpId, type ToolCall } from "@hermes-memory/core/internal/message";
import type { ToolArguments } from "@hermes-memory/core/internal/tools";

export type CheckedCall = {
  readonly id: string;
  /** The name of an existing tool. */
  readonly name: string;
  readonly args: ToolArguments;
};

/** The result text for a call that does not run. */
export type RefusedCall = { readonly id: string; readonly name: string; readonly text: string };

/** `message` is the model's message with repaired calls: known names, unique ids, arguments as text, no duplicates. */
export type CallCheck =
  | {
      readonly kind: "ok";
      readonly message: AssistantMessage;
      readonly calls: readonly CheckedCall[];
      /** How many exact duplicates were left out. */
      readonly dropped: number;
    }
  | {
      readonly kind: "unknown_tool";
      readonly message: AssistantMessage;
      readonly names: readonly string[];
      readonly results: readonly RefusedCall[];
    }
  | {
      readonly kind: "bad_json";
      /** With `{}` for arguments that are not JSON: some servers refuse a history that contains them. */
      readonly message: AssistantMessage;
      readonly problems: readonly ArgumentProblem[];
      readonly results: readonly RefusedCall[];
      /** The arguments are JSON, but nested deeper or longer than the limit: asking again would give the same. */
      readonly isOverLimit: boolean;
    }
  | { readonly kind: "truncated"; readonly name: string };

type ArgumentProblem = { readonly id: string; readonly name: string; readonly reason: string };

export type KnownTools = {
  readonly names: readonly string[];
  resolveName(name: string): string | undefined;
};

export function checkCalls(message: AssistantMessage, tools: KnownTools): CallCheck {
  const read = readCalls(message);
  const calls = read.map((call) => {
    const known = tools.resolveName(call.name);
    return { ...call, isKnown: known !== undefined, name: known ?? call.name };
  });
  const unknown = calls.filter(({ isKnown }) => !isKnown).map(({ name }) => name);
  if (unknown.length > 0) {
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
    return { kind: "unknown_tool", message: named, names: [...new Set(unknown)], results };
  }
  const parsed = withoutDuplicates(calls).map((call) => ({ ...call, given: parseArguments(call.text) }));
  const cutOff = parsed.find(({ given }) => given.kind === "truncated");
  if (cutOff !== undefined) return { kind: "truncated", name: cutOff.name };
  const problems = parsed.flatMap(({ id, name, given }) =>
    given.kind === "bad" ? [{ id, name, reason: given.reason }] : [],
  );
  if (problems.length > 0) {
    const results = parsed.map(({ id, name, given }) => {
      const isBad = given.kind === "bad";
      const bad = isBad ? JSON.stringify({ error: badArguments(name, given.reason) }) : "";
      return { id, name, text: bad || skipped(name, "had arguments that could not be read") };
    });
    const usable = parsed.map((call) => ({ ...call, text: call.given.kind === "ok" ? call.text : "{}" }));
    const isOverLimit = parsed.some(({ given }) => given.kind === "bad" && given.isOverLimit);
    return { kind: "bad_json", message: withCalls(message, usable), problems, results, isOverLimit };
  }
  return {
    kind: "ok",
    message: withCalls(message, parsed),
    calls: parsed.map(({ id, name, given }) => ({ id, name, args: given.kind === "ok" ? given.value : {} })),
    dropped: read.length - parsed.length,
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
