// Chat sessions of VS Code and the editors made from it: one JSON object, or a log of changes to it, per session.
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { format } from "../declare.ts";
import { copilotEvents } from "../kit/copilot-events.ts";
import { wholeJson } from "../kit/json-array.ts";
import { listOf, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { vscodeUserFolders, workspaceFolderOf } from "../kit/vscode-user.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Unit, Walking } from "../reader.ts";
import { replayed } from "./vscode-chat/mutation-log.ts";
import { chatTurn } from "./vscode-chat/turn.ts";

/** Folders that hold chat sessions. `transferredChatSessions` is a copy for another window. */
const STORES: ReadonlySet<string> = new Set(["chatSessions", "emptyWindowChatSessions"]);
/** Copilot Chat keeps the newest 20 sessions here for hooks, in the format of its CLI. */
const TRANSCRIPTS = "transcripts";
const EXTENSION = "GitHub.copilot-chat";

export const vscodeChat = format({
  source: "vscode-chat",
  title: "VS Code chat",
  evidence: "S",
  roots: (place) => vscodeUserFolders(place),
  units: newestOfEach,
  recognises: ({ first }) => {
    const record = recordOf(first);
    const state = record?.kind === 0 ? recordOf(record.v) : record;
    return Array.isArray(state?.requests) && ("sessionId" in state || "responderUsername" in state);
  },
  read: async function* ({ path }, reading) {
    const folder = dirname(path);
    const isTranscript = basename(folder) === TRANSCRIPTS;
    const cwd = await workspaceFolderOf(isTranscript ? dirname(dirname(folder)) : dirname(folder));
    const fallback = basename(path).replace(/\.jsonl?$/, "");
    if (isTranscript) return yield* copilotEvents(path, { nativeId: fallback, cwd }, reading);
    const state = path.endsWith(".jsonl")
      ? await replayed(path, isUsed, reading)
      : recordOf(await wholeJson(path, reading));
    if (state === undefined) return;
    const requests = listOf(state.requests).filter(isRecord);
    const nativeId = textOf(state.sessionId) ?? fallback;
    yield { nativeId, cwd, title: textOf(state.customTitle), startedAt: timeOf(state.creationDate) };
    for (const [index, request] of requests.entries()) {
      reading.signal.throwIfAborted();
      if (!isFinished(request, index === requests.length - 1)) continue;
      for (const said of chatTurn(request, nativeId, reading)) yield "role" in said ? said : { cwd, ...said };
    }
  },
});

/** Opening a folder copies its sessions into another store, so the same session may lie in several: the newest file is read. */
async function* newestOfEach(root: string, walking: Walking): AsyncGenerator<Unit> {
  const newest = new Map<string, { readonly path: string; readonly rank: number; readonly at: number }>();
  const file = (path: string): boolean => path === root || rankOf(path) > 0;
  for await (const path of filesBelow(root, { file, folder: mayHoldSessions, maxDepth: 5 }, walking)) {
    const rank = rankOf(path);
    const at = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
    const id = basename(path).replace(/\.jsonl?$/, "");
    const other = newest.get(id);
    if (other === undefined || rank > other.rank || (rank === other.rank && at >= other.at))
      newest.set(id, { path, rank, at });
  }
  for (const { path } of newest.values())
    yield { path, stamps: [path, join(dirname(dirname(path)), "workspace.json")] };
}

/** Keeps the walk out of what extensions and the editor store beside the sessions. */
function mayHoldSessions(path: string): boolean {
  const name = basename(path);
  const parent = basename(dirname(path));
  if (parent === "User") return name === "workspaceStorage" || name === "globalStorage";
  if (parent === "globalStorage") return STORES.has(name);
  if (parent === EXTENSION) return name === TRANSCRIPTS;
  if (basename(dirname(dirname(path))) === "workspaceStorage") return STORES.has(name) || name === EXTENSION;
  return name !== "node_modules";
}

/** Transcripts for hooks have less than the stores and count only where no store has the session. */
function rankOf(path: string): number {
  const folder = dirname(path);
  if (!/\.jsonl?$/.test(path)) return 0;
  if (STORES.has(basename(folder))) return 2;
  return basename(folder) === TRANSCRIPTS && basename(dirname(folder)) === EXTENSION ? 1 : 0;
}

const USED_OF_STATE: ReadonlySet<unknown> = new Set(["sessionId", "creationDate", "customTitle", "requests"]);
const UNUSED_OF_REQUEST: ReadonlySet<unknown> = new Set([
  "variableData",
  "contentReferences",
  "codeCitations",
  "followups",
  "editedFileEvents",
]);
const USED_OF_METADATA: ReadonlySet<unknown> = new Set([
  "toolCallRounds",
  "toolCallResults",
  "promptTokens",
  "outputTokens",
  "resolvedModel",
]);

/** Whether a part of the state is used. The rest (typed but unsent input, attached files and images, rendered prompts) is dropped. */
function isUsed([top, , ofRequest, ofResult, ofMetadata]: readonly (string | number)[]): boolean {
  if (!USED_OF_STATE.has(top)) return false;
  if (ofRequest === undefined) return true;
  if (UNUSED_OF_REQUEST.has(ofRequest)) return false;
  if (ofRequest !== "result" || ofResult !== "metadata" || ofMetadata === undefined) return true;
  return USED_OF_METADATA.has(ofMetadata);
}

/** Values of `modelState` that say complete, cancelled and failed; the others are pending and waiting for the user. */
const FINAL_STATES: ReadonlySet<number | undefined> = new Set([1, 2, 3]);

/** A running request is left for the next run. Older versions have no state: there a result or a later request ends it. */
function isFinished(request: Readonly<Record<string, unknown>>, isLast: boolean): boolean {
  const state = recordOf(request.modelState);
  if (state !== undefined) return FINAL_STATES.has(numberOf(state.value));
  return !isLast || recordOf(request.result) !== undefined || request.isCanceled === true;
}
