// From what a model wrote as tool calls to calls that can run, or to the reason why none of them can. Decides nothing about
// trying again.

import { isRecord, outsideJsonOr, parseOutsideJson, pyStrip } from "@hermes-memory/core/lib";
import { type AssistantMessage, madeUpId, type ToolCall } from "@hermes-memory/core/message";
import type { ToolArguments } from "@hermes-memory/core/tools";

export type CheckedCall = {
  readonly id: string;
  /** Of a tool that exists. */
  readonly name: string;
  readonly args: ToolArguments;
};

/** A text for a call that does not run, in the order of the message's calls. */
export type RefusedCall = { readonly id: string; readonly name: string; readonly text: string };

/** The message is the model's, with its calls as they belong in the list: names and ids repaired, arguments as text, no duplicates. */
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
      /** With `{}` for arguments that are no JSON: some servers refuse a history that has them. */
      readonly message: AssistantMessage;
      readonly problems: readonly ArgumentProblem[];
      readonly results: readonly RefusedCall[];
      /** They are JSON, but deeper or longer than is taken: asking the same again would bring the same. */
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
  const calls = read.map((call) => ({ ...call, known: tools.resolveName(call.name) }));
  const unknown = calls.filter(({ known }) => known === undefined).map(({ name }) => name);
  if (unknown.length > 0) {
    const results = calls.map(({ id, name, known }) => ({
      id,
      name: known ?? name,
      text:
        known === undefined
          ? doesNotExist(name, tools.names)
          : skipped(known, "named a tool that does not exist"),
    }));
    const named = calls.map((call) => ({ ...call, name: call.known ?? call.name, text: jsonOr(call.text) }));
    return {
      kind: "unknown_tool",
      message: withCalls(message, named),
      names: [...new Set(unknown)],
      results,
    };
  }
  const parsed = withoutDuplicates(calls.map((call) => ({ ...call, name: call.known ?? call.name }))).map(
    (call) => ({
      ...call,
      arguments: parseArguments(call.text),
    }),
  );
  const cutOff = parsed.find((call) => call.arguments.kind === "truncated");
  if (cutOff !== undefined) return { kind: "truncated", name: cutOff.name };
  const problems = parsed.flatMap(({ id, name, arguments: given }) =>
    given.kind === "bad" ? [{ id, name, reason: given.reason }] : [],
  );
  if (problems.length > 0) {
    const results = parsed.map(({ id, name, arguments: given }) => ({
      id,
      name,
      text:
        given.kind === "bad"
          ? JSON.stringify({ error: badArguments(name, given.reason) })
          : skipped(name, "had arguments that could not be read"),
    }));
    const usable = parsed.map((call) => ({ ...call, text: call.arguments.kind === "ok" ? call.text : "{}" }));
    const isOverLimit = parsed.some(({ arguments: given }) => given.kind === "bad" && given.isOverLimit);
    return { kind: "bad_json", message: withCalls(message, usable), problems, results, isOverLimit };
  }
  return {
    kind: "ok",
    message: withCalls(message, parsed),
    calls: parsed.map(({ id, name, arguments: given }) => ({
      id,
      name,
      args: given.kind === "ok" ? given.value : {},
    })),
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
    // Two calls with one id could not be told apart by their results.
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

/** JSON within a JSON text: some models encode their arguments twice. */
function unwrapped(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*\{/.test(value)) return value;
  return outsideJsonOr(value, value); // else it is a text, and refused as one
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
      const { id: _id, type: _type, ...vendor } = call.vendor ?? {};
      const named = "call_id" in vendor ? { ...vendor, call_id: id } : vendor;
      const kept = Object.keys(named).length === 0 ? {} : { vendor: named };
      return { id, name, arguments: text, ...kept };
    }),
  };
}

function doesNotExist(name: string, names: readonly string[]): string {
  const sorted = [...names].sort();
  const more = sorted.length > LISTED_TOOLS ? ` and ${sorted.length - LISTED_TOOLS} more` : "";
  return `Tool '${name}' does not exist. Available tools: ${sorted.slice(0, LISTED_TOOLS).join(", ")}${more}`;
}

/** The request has them all; with hundreds of them the answer would crowd out the conversation. */
const LISTED_TOOLS = 200;

function skipped(name: string, why: string): string {
  return `[${name} was skipped: another call of the same reply ${why}. Make the call again.]`;
}

function badArguments(name: string, reason: string): string {
  return `The arguments of '${name}' cannot be read: ${reason}. Nothing was run. Send one JSON object, {} when there are no arguments.`;
}
