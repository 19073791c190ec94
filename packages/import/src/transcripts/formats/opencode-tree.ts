// The JSON files in which opencode kept its sessions before it had a database: a file per session, message and part.
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describeCause, errnoCode } from "@hermes-memory/core/internal/lib";
import type { Said } from "../declare.ts";
import { wholeJson } from "../kit/json-array.ts";
import { type Json, recordOf, textOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, Unit, Walking } from "../reader.ts";
import { isReverted, messageRows, sessionFacts } from "./opencode-messages.ts";

/** Where the messages and parts of a session file are. */
type Places = {
  readonly messages: string;
  readonly parts: (messageId: string) => string;
  readonly project: string | undefined;
};

/** One unit per session file. `isKnown` tells which sessions the database has already. */
export async function* treeUnits(
  root: string,
  walking: Walking,
  isKnown: (sessionId: string) => boolean,
): AsyncGenerator<Unit> {
  const folder = (path: string): boolean => !/[\\/](?:message|part|snapshot|log|bin)$/.test(path);
  const file = (path: string): boolean => isSessionFile(path) || (path === root && path.endsWith(".json"));
  for await (const path of filesBelow(root, { file, folder }, walking)) {
    if (isKnown(basename(path, ".json"))) continue;
    const { messages } = placesOf(path);
    const names = await namesIn(messages, walking.unreadable);
    // The product writes the file of a message anew when the message is complete.
    yield { path, stamps: [path, messages, ...names.map((name) => join(messages, name))] };
  }
}

export function isSessionFile(path: string): boolean {
  return /[\\/]session[\\/][^\\/]+[\\/]ses_[^\\/]*\.json$/.test(path);
}

export async function* readTreeSession({ path }: Unit, reading: Reading): AsyncGenerator<Said> {
  const session = recordOf(await wholeJson(path, reading));
  if (session === undefined) throw new Error("not a JSON object");
  const places = placesOf(path);
  const project = places.project === undefined ? undefined : await recordIn(places.project, reading);
  const nativeId = textOf(session.id) ?? basename(path, ".json");
  const facts = sessionFacts(nativeId, session, textOf(project?.worktree));
  yield facts;
  let cwd = facts.cwd;
  for (const name of await namesIn(places.messages, reading.unreadable)) {
    reading.signal.throwIfAborted();
    const messagePath = join(places.messages, name);
    const data = await recordIn(messagePath, reading);
    if (data === undefined) continue;
    const id = textOf(data.id) ?? basename(name, ".json");
    const parts: Json[] = [];
    for (const part of await namesIn(places.parts(id), reading.unreadable)) {
      const record = await recordIn(join(places.parts(id), part), reading);
      if (record !== undefined) parts.push(record);
    }
    cwd ??= textOf(recordOf(data.path)?.cwd);
    const provider = textOf(data.providerID);
    if (provider !== undefined) yield { nativeId, provider, cwd };
    const isActive = !isReverted(id, recordOf(session.revert));
    yield* messageRows({ id, data, parts, path: messagePath }, isActive, reading);
  }
}

/** `storage/session/<project>/<id>.json`, or the older `storage/session/info/<id>.json` with the messages below `session` too. */
function placesOf(path: string): Places {
  const id = basename(path, ".json");
  const owner = basename(dirname(path));
  const session = dirname(dirname(path));
  if (owner === "info")
    return {
      messages: join(session, "message", id),
      parts: (messageId) => join(session, "part", id, messageId),
      project: undefined,
    };
  const storage = dirname(session);
  return {
    messages: join(storage, "message", id),
    parts: (messageId) => join(storage, "part", messageId),
    project: join(storage, "project", `${owner}.json`),
  };
}

/** Names of the JSON files in a folder, oldest first: the ids in the names are made from the time. */
async function namesIn(folder: string, unreadable: Reading["unreadable"]): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith(".json")).sort();
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT") unreadable(folder, describeCause(cause));
    return [];
  }
}

async function recordIn(path: string, reading: Reading): Promise<Json | undefined> {
  try {
    const record = recordOf(await wholeJson(path, reading));
    if (record === undefined) reading.unreadable(path, "not a JSON object");
    return record;
  } catch (cause) {
    reading.signal.throwIfAborted();
    if (errnoCode(cause) !== "ENOENT") reading.unreadable(path, describeCause(cause));
    return undefined;
  }
}
