// OpenClaw's sessions.json: which session a chat is in now, its title, and what kind of session it is.
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { wholeJson } from "../../kit/json-array.ts";
import { type Json, recordOf, textOf } from "../../kit/values.ts";
import type { Reading, SessionFacts } from "../../reader.ts";

type Kind = Pick<SessionFacts, "title" | "visibility" | "parent">;
export type SessionIndex = {
  readonly byFile: ReadonlyMap<string, Kind>;
  /** By `<agent>-<session id>`. */
  readonly bySession: ReadonlyMap<string, Kind>;
};

const EMPTY: SessionIndex = { byFile: new Map(), bySession: new Map() };
/** The last index that was read: every transcript of an agent asks for the same one. */
let last: { readonly stamp: string; readonly index: SessionIndex } | undefined;

export async function sessionIndex(path: string, agent: string, reading: Reading): Promise<SessionIndex> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return EMPTY;
  const stamp = `${path} ${found.size} ${found.mtimeMs}`;
  if (last?.stamp !== stamp) {
    try {
      const quiet = { ...reading, advanced: () => {} };
      last = { stamp, index: indexOf(recordOf(await wholeJson(path, quiet)) ?? {}, agent) };
    } catch (cause) {
      reading.signal.throwIfAborted();
      reading.unreadable(path, describeCause(cause));
      last = { stamp, index: EMPTY };
    }
  }
  return last.index;
}

function indexOf(keys: Json, agent: string): SessionIndex {
  const byFile = new Map<string, Kind>();
  const bySession = new Map<string, Kind>();
  for (const [key, value] of Object.entries(keys)) {
    const entry = recordOf(value);
    const id = textOf(entry?.sessionId);
    if (entry === undefined || id === undefined) continue;
    const parentKey = textOf(entry.spawnedBy) ?? textOf(entry.parentSessionKey);
    const parent = textOf(recordOf(parentKey === undefined ? undefined : keys[parentKey])?.sessionId);
    const kind: Kind = {
      title: textOf(entry.label) ?? textOf(entry.displayName) ?? textOf(entry.subject),
      ...kindOf(key, parent === undefined ? undefined : `${agent}-${parent}`),
    };
    bySession.set(`${agent}-${id}`, kind);
    const file = textOf(entry.sessionFile);
    if (file !== undefined) byFile.set(basename(file.replaceAll("\\", "/")), kind);
  }
  return { byFile, bySession };
}

/** Subagents, and sessions that a timer, a webhook or a model probe started. */
export function kindOf(key: string, parent?: string): Kind {
  const rest = key.replace(/^agent:[^:]*:/, "");
  if (/^subagent:/.test(rest)) return { visibility: "subagent", parent };
  return /^(?:cron|hook|heartbeat)(?::|$)|:heartbeat$|^explicit:model-run-/.test(rest)
    ? { visibility: "hidden" }
    : {};
}
