// /memory add, remove, undo. The person at the keyboard is who approval would ask, so there is no gate here; scan, budget and
// journal are those of every write.
import {
  committedWrites,
  formatUsage,
  type MemoryError,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryStore,
  type MemoryTarget,
} from "@hermes-memory/core/curated";
import { areSecretIds } from "@hermes-memory/core/security";
import type { AgentSurface } from "../../surface.ts";
import type { CommandCall, CommandReply } from "../command.ts";
import { short } from "../format.ts";
import { takeOptions, withoutQuotes } from "../parse.ts";
import { failed, told } from "../reply.ts";
import { freshLook, noMemory } from "./show.ts";

const FROM_NEXT_SESSION = "It counts from the next session on; the prompt of this one stays as it is.";
const ENTRY_CHARS = 80;
const HOW_TO_ALLOW =
  "To store it anyway: 'hermes memory add --allow-secret', or set memory.allow_secrets to true and start again.";
const REMOVE_USAGE = "Usage: /memory remove [--user | --target memory|user] text, or --entry and its number";

export function add(call: CommandCall, rest: string): Promise<CommandReply> {
  return write(call, rest, "add", (content) => ({ action: "add", content }));
}

/** `--entry 2` is the second one that '/memory show' lists. A bare number could be that or a text, so it is refused. */
export async function remove(call: CommandCall, rest: string): Promise<CommandReply> {
  const [, before = "", number, behind = ""] = /^(.*?)--entry[ =](\d{1,9})(?:\s+(.*))?$/s.exec(rest) ?? [];
  if (number === undefined) return write(call, rest, "remove", (oldText) => ({ action: "remove", oldText }));
  const place = targetOf(`${before}${behind}`.trim());
  const memory = call.agent.memory;
  if (memory === undefined) return noMemory();
  if (place === undefined || place.text !== "") return failed("usage", REMOVE_USAGE);
  const oldText = (await freshLook(call.agent))?.entries(place.target)[Number(number) - 1];
  if (oldText === undefined)
    return failed("no_match", `There is no entry ${number}.`, "'/memory show' lists the entries.");
  return apply(call.agent, memory, place.target, { action: "remove", oldText, match: "entry" });
}

export async function undo({ agent }: CommandCall, rest: string): Promise<CommandReply> {
  const { memory } = agent;
  if (memory === undefined) return noMemory();
  if (/\s/.test(rest)) return failed("usage", "Usage: /memory undo [id]", "'/memory history' shows the ids.");
  const asked = rest === "" ? {} : { id: rest };
  const candidate = memory.undoCandidate(asked);
  // By its id from here on: a change that comes in between must not be taken back in its place.
  const chosen = candidate === undefined ? asked : { id: candidate.id, target: candidate.target };
  const outcome = await memory.undo(chosen, metaOf(agent));
  if (!outcome.ok) return refusal(outcome.error);
  for (const each of committedWrites(outcome.value)) agent.noteMemoryWrite(each);
  return written(outcome.value, { undone: candidate?.id ?? null });
}

function refusal(error: MemoryError): CommandReply {
  const listed = (entries: readonly string[]): string[] =>
    entries.map((entry) => `  ${short(entry, ENTRY_CHARS)}`);
  switch (error.kind) {
    case "ambiguous":
      return failed(error.kind, error.message, ...listed(error.matches));
    case "over_limit":
      return failed(
        error.kind,
        error.message,
        "'/memory show' lists the entries, '/memory remove' takes one out.",
      );
    case "drift":
      return failed(error.kind, error.message, error.remediation);
    case "blocked":
      return failed(error.kind, error.message, ...(areSecretIds(error.ids) ? [HOW_TO_ALLOW] : []));
    default:
      return failed(error.kind, error.message);
  }
}

async function write(
  { agent }: CommandCall,
  rest: string,
  action: "add" | "remove",
  toOp: (text: string) => MemoryOp,
): Promise<CommandReply> {
  if (agent.memory === undefined) return noMemory();
  const place = targetOf(rest);
  const text = withoutQuotes(place?.text ?? "");
  if (place === undefined || text === "")
    return failed("usage", `Usage: /memory ${action} [--user | --target memory|user] text`);
  if (action === "remove" && text === place.text && /^#?\d{1,7}\.?$/.test(text))
    return failed("usage", `'${text}' is a number, not a text.`, ...numberHint(text.replace(/\D/g, "")));
  return apply(agent, agent.memory, place.target, toOp(text));
}

function numberHint(number: string): string[] {
  return [
    `'/memory remove --entry ${number}' removes entry ${number} of '/memory show'; '/memory remove "${number}"' the one with this text.`,
  ];
}

async function apply(
  agent: AgentSurface,
  memory: MemoryStore,
  target: MemoryTarget,
  asked: MemoryOp,
): Promise<CommandReply> {
  const named = asked.action === "add" ? undefined : memory.resolve(target, asked);
  if (named && !named.ok) return refusal(named.error);
  const op = named?.value.op ?? asked;
  const outcome = await memory.apply(target, op, metaOf(agent));
  if (!outcome.ok) return refusal(outcome.error);
  for (const each of committedWrites(outcome.value)) agent.noteMemoryWrite(each);
  return written(outcome.value, {});
}

function metaOf(agent: AgentSurface): { readonly origin: "cli"; readonly sessionId: string } {
  return { origin: "cli", sessionId: agent.sessionId };
}

function written(outcome: MemoryOpOutcome, more: object): CommandReply {
  const { target, message, usedChars, charLimit, warning, changeId, archived = [], removed = [] } = outcome;
  const usage = formatUsage({ used: usedChars, limit: charLimit });
  const change = changeId === undefined ? "" : `, change ${changeId}`;
  return told(
    [
      `${message} (${target} ${usage}${change})`,
      ...removed.map((entry) => `- ${entry}`),
      ...archived.map((entry) => `Moved to the archive to make room: ${short(entry, ENTRY_CHARS)}`),
      ...(warning === undefined ? [] : [warning]),
      ...(changeId === undefined ? [] : [FROM_NEXT_SESSION]),
    ],
    { success: true, target, message, usage, change_id: changeId ?? null, archived, removed, ...more },
  );
}

type Place = { readonly target: MemoryTarget; readonly text: string };

/** Undefined for a target there is not. A text that begins with a dash goes behind `--`. */
function targetOf(rest: string): Place | undefined {
  if (/^--(?=\s)/.test(rest)) return { target: "memory", text: rest.slice(2).trim() };
  const [named, behind = ""] = /^--(user|memory)(?:\s+(.*))?$/is.exec(rest)?.slice(1) ?? [];
  if (named !== undefined)
    return { target: named.toLowerCase() === "user" ? "user" : "memory", text: behind };
  if (!/^(?:--target\b|-t\b)/.test(rest))
    return rest.startsWith("--") ? undefined : { target: "memory", text: rest };
  const options = takeOptions(rest, ["target"], { "-t": "target" });
  if ("unusable" in options) return undefined;
  const { target } = options.values;
  return target === "user" || target === "memory" ? { target, text: options.rest } : undefined;
}
