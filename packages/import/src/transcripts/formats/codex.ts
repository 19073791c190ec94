// Codex CLI: one rollout file per thread, plain or compressed, of three generations.
import { basename, dirname, join } from "node:path";
import { wholeJson } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { listOf, recordOf, textOf } from "../kit/values.ts";
import { filesBelow, isFolder } from "../kit/walk.ts";
import type { Reading, TranscriptEvent, TranscriptReader, Unit } from "../reader.ts";
import { CodexRollout } from "./codex/rollout.ts";
import { codexThreads } from "./codex/titles.ts";

const FOLDERS = ["sessions", "archived_sessions"] as const;
const ROLLOUT = /^rollout-.*\.(?:jsonl|jsonl\.zst|json)$/;
const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
/** The id of the thread, and after an underscore that of the file where the user took the thread back to an earlier point. */
const IDS = new RegExp(`(${UUID})(?:_(${UUID}))?\\.json`, "i");

export const codex: TranscriptReader = {
  source: "codex",
  title: "Codex CLI",
  evidence: "S",
  version: 2,
  roots: ({ home, env }) => [env.CODEX_HOME || join(home, ".codex")],
  units: async function* (root, walking) {
    const found = FOLDERS.map((folder) => join(root, folder));
    const isHome = (await Promise.all(found.map(isFolder))).includes(true);
    for (const from of isHome ? found : [root]) {
      let plain = "";
      const file = (path: string): boolean => path === root || ROLLOUT.test(basename(path));
      for await (const path of filesBelow(from, { file }, walking)) {
        // The compressed copy sorts right after the plain file, which is the newer one.
        if (path !== `${plain}.zst`) yield { path };
        plain = path;
      }
    }
  },
  recognises: ({ path, first }) => {
    const record = recordOf(first);
    if (record === undefined) return ROLLOUT.test(basename(path)) && path.endsWith(".zst");
    const isCurrent = typeof record.type === "string" && recordOf(record.payload) !== undefined;
    const isOldHeader =
      record.type === undefined && typeof record.id === "string" && "instructions" in record;
    return (
      isCurrent || isOldHeader || (Array.isArray(record.items) && recordOf(record.session) !== undefined)
    );
  },
  read: readRollout,
};

async function* readRollout({ path }: Unit, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const [, threadId, rolloutId] = IDS.exec(basename(path)) ?? [];
  const home = homeOf(path);
  const rollout = new CodexRollout(
    {
      fallbackId: threadId ?? basename(path).replace(/\.json.*$/, ""),
      suffix: rolloutId === undefined || rolloutId === threadId ? "" : `_${rolloutId}`,
      threads: await codexThreads(home, reading),
      turnIdsOf: (parent) => turnIdsOf(home, parent, reading),
    },
    reading,
  );
  if (path.endsWith(".json")) {
    const file = recordOf(await wholeJson(path, reading));
    const session = recordOf(file?.session);
    if (session === undefined) throw new Error("has no session");
    yield* rollout.take({ instructions: "", ...session }, 1);
    for (const [index, item] of listOf(file?.items).entries()) {
      const record = recordOf(item);
      if (record === undefined) reading.malformed(index + 1, "not a JSON object");
      else yield* rollout.take(record, index + 1);
    }
  } else
    for await (const { value, line } of jsonLines(path, reading)) {
      yield* rollout.take(value, line);
      if (rollout.isSkipped) return;
    }
  yield* rollout.end();
}

/** The folder with `sessions/` or `archived_sessions/`; for a file from elsewhere, its own folder. */
function homeOf(path: string): string {
  const own = dirname(path);
  for (let folder = own; folder !== dirname(folder); folder = dirname(folder))
    if (FOLDERS.some((name) => name === basename(folder))) return dirname(folder);
  return own;
}

/** The turns of another thread, found by its id in the file name; empty when its file is gone. */
async function turnIdsOf(home: string, threadId: string, reading: Reading): Promise<ReadonlySet<string>> {
  const turns = new Set<string>();
  const quiet = { signal: reading.signal, malformed: () => {}, advanced: () => {}, unreadable: () => {} };
  const file = (path: string): boolean => ROLLOUT.test(basename(path)) && path.includes(threadId);
  for (const folder of FOLDERS)
    for await (const path of filesBelow(join(home, folder), { file }, quiet))
      try {
        for await (const { value } of jsonLines(path, quiet)) {
          const turn = textOf(recordOf(value.payload)?.turn_id);
          if (turn !== undefined) turns.add(turn);
        }
      } catch {
        reading.signal.throwIfAborted(); // without the parent, its turns cannot be told from the child's
      }
  return turns;
}
