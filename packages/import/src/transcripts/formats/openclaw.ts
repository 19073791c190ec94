// OpenClaw and its earlier names: per agent a folder of JSONL files in pi's shape with an index, or a database with the same records.
import { basename, dirname, join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { strippedUserText } from "@hermes-memory/core/internal/security";
import { format, type Said } from "../declare.ts";
import { lastRead, recordIn } from "../kit/json-array.ts";
import { databaseStamps, openSource, type SourceDatabase } from "../kit/sqlite-source.ts";
import { type Json, jsonOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow, isFolder } from "../kit/walk.ts";
import type { Place, Reading, SessionFacts } from "../reader.ts";
import { PiRecords, type PiRules, piHeader, readPiFile, stemOf } from "./pi.ts";

const DATABASE = "openclaw-agent.sqlite";
/** The product's names in the order in which it looks for its folder; `.moldbot` is a misspelling that was shipped. */
export const STATE_FOLDERS = [".openclaw", ".clawdbot", ".moldbot", ".moltbot"];

/** Prompts of timers name the file of the heartbeat, or ask for one of these answers. */
const MACHINE_PROMPT =
  /^Read HEARTBEAT\.md\b|\b(?:reply|respond|answer)(?: with)?(?: exactly| only)?:? [`"'*]*(?:HEARTBEAT_OK|NO_REPLY)\b/i;
const SILENT_ANSWER = /^\s*(?:NO_REPLY|HEARTBEAT_OK)\s*$/;

const OPENCLAW_RULES: PiRules = {
  userText: (text) => {
    const plain = strippedUserText(text);
    return MACHINE_PROMPT.test(plain) ? undefined : plain;
  },
  ownProvider: "openclaw",
  isSilent: (text) => SILENT_ANSWER.test(text),
};

export const openclaw = format({
  source: "openclaw",
  title: "OpenClaw",
  evidence: "S",
  version: 2,
  keepsEmpty: true,
  roots: stateFolders,
  units: async function* (root, walking) {
    const agents = join(root, "agents");
    const from = (await isFolder(agents)) ? agents : root;
    const wanted = (path: string): boolean => isTranscript(path, root) || basename(path) === DATABASE;
    for await (const path of filesBelow(from, { file: wanted }, walking))
      yield basename(path) === DATABASE ? { path, stamps: databaseStamps(path) } : { path };
  },
  recognises: ({ path, first }) =>
    basename(path) === DATABASE ||
    (first.type === "session" && /[\\/]agents[\\/][^\\/]+[\\/]sessions[\\/]/.test(path)),
  read: (unit, reading) =>
    basename(unit.path) === DATABASE
      ? readDatabase(unit.path, agentOf(unit.path), reading)
      : readFile(unit.path, reading),
});

/** Every folder that the product may have used on this machine, or the one that its settings name. */
function stateFolders({ home, env }: Place): readonly string[] {
  const named = env.OPENCLAW_STATE_DIR || env.CLAWDBOT_STATE_DIR;
  const ofUser = env.OPENCLAW_HOME || home;
  return named
    ? [named.replace(/^~(?=$|[\\/])/, ofUser)]
    : STATE_FOLDERS.map((folder) => join(ofUser, folder));
}

/**
 * Live files, files kept at a reset, and cold ones. Deleted sessions are read only when the user names the file; backups and checkpoints
 * are copies of other files.
 */
function isTranscript(path: string, root: string): boolean {
  const name = basename(path);
  const folder = dirname(path);
  if (/\.bak$|\.checkpoint\./.test(name)) return false;
  if (path === root) return /\.jsonl(?:\.zst|\.(?:reset|deleted)\..+)?$/.test(name);
  if (basename(folder) === "cold") return name.endsWith(".jsonl.zst");
  return (basename(folder) === "sessions" || folder === root) && /\.jsonl(?:\.reset\..+)?$/.test(name);
}

async function* readFile(path: string, reading: Reading): AsyncGenerator<Said> {
  const agent = agentOf(path);
  const index = await sessionIndex(join(sessionsFolderOf(path), "sessions.json"), agent, reading);
  // A topic of a chat has its own file, with the session's id in the header.
  const topic = /-topic-[^.]+/.exec(basename(path))?.[0] ?? "";
  const nativeIdOf = (id: string): string => `${agent}-${id.endsWith(topic) ? id : id + topic}`;
  const facts = index.byFile.get(basename(path)) ?? index.bySession.get(`${agent}-${stemOf(path)}`) ?? {};
  yield* readPiFile({ ...OPENCLAW_RULES, path, nativeIdOf, facts }, reading);
}

function sessionsFolderOf(path: string): string {
  const folder = dirname(path);
  return basename(folder) === "cold" ? dirname(folder) : folder;
}

/** `agents/<agent>/sessions/<file>` and `agents/<agent>/agent/<database>`; a file from elsewhere counts as the main agent's. */
function agentOf(path: string): string {
  const folder = sessionsFolderOf(path);
  return ["sessions", "agent"].includes(basename(folder)) ? basename(dirname(folder)) || "main" : "main";
}

type Kind = Pick<SessionFacts, "title" | "visibility" | "parent">;
type SessionIndex = {
  readonly byFile: ReadonlyMap<string, Kind>;
  /** By `<agent>-<session id>`. */
  readonly bySession: ReadonlyMap<string, Kind>;
};

const lastIndex = lastRead<SessionIndex>();

function sessionIndex(path: string, agent: string, reading: Reading): Promise<SessionIndex> {
  return lastIndex([path], async () =>
    indexOf((await recordIn(path, { ...reading, advanced: () => {} })) ?? {}, agent),
  );
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
function kindOf(key: string, parent?: string): Kind {
  const rest = key.replace(/^agent:[^:]*:/, "");
  if (/^subagent:/.test(rest)) return { visibility: "subagent", parent };
  return /^(?:cron|hook|heartbeat)(?::|$)|:heartbeat$|^explicit:model-run-/.test(rest)
    ? { visibility: "hidden" }
    : {};
}

/** As for a line of a file. */
const MAX_EVENT_BYTES = 64 * 1024 ** 2;

async function* readDatabase(path: string, agent: string, reading: Reading): AsyncGenerator<Said> {
  using db = await openSource(path, reading);
  if (!db.hasTable("transcript_events")) throw new Error("has no table transcript_events");
  const sessions = db.all(
    `SELECT session_id, COUNT(*) AS events, MAX(seq) AS last, MAX(created_at) AS time FROM transcript_events
     GROUP BY session_id ORDER BY MIN(created_at), session_id`,
  );
  for (const { session_id: id, events, last, time } of sessions) {
    reading.signal.throwIfAborted();
    if (typeof id !== "string" || id === "") continue;
    const nativeId = `${agent}-${id}`;
    const mark = `${events} ${last} ${time}`;
    if (reading.isUnchanged(nativeId, mark)) continue;
    yield { ...windowFacts(db, id, agent), nativeId, mark };
    const records = new PiRecords(nativeId, reading, OPENCLAW_RULES);
    // One statement sees one state of the database, so the session needs no transaction around it.
    for (const row of db.each("SELECT * FROM transcript_events WHERE session_id = :id ORDER BY seq", {
      id,
    })) {
      const seq = Number(row.seq);
      const event = eventOf(row);
      if (event === undefined) reading.malformed(seq, `no readable record in session ${id}`);
      else yield* takeEvent(records, event, nativeId, seq);
    }
    yield* records.end();
    yield { kind: "end" };
  }
  if (db.changedMeanwhile()) throw new Error("was changed by another program while it was read");
}

function* takeEvent(records: PiRecords, event: Json, nativeId: string, seq: number): Generator<Said> {
  const header = piHeader(event);
  if (header === undefined) return yield* records.take(event, seq);
  const { id: _, ...facts } = header;
  yield { ...facts, nativeId };
}

/** From schema 23 on, the text of a large record is compressed. */
function eventOf(row: Json): Json | undefined {
  if (typeof row.event_json === "string") return recordOf(jsonOf(row.event_json));
  if (!(row.event_zstd instanceof Uint8Array)) return undefined;
  try {
    const text = zstdDecompressSync(row.event_zstd, { maxOutputLength: MAX_EVENT_BYTES }).toString();
    return recordOf(jsonOf(text));
  } catch {
    return undefined; // damaged, or larger than the limit
  }
}

function windowFacts(db: SourceDatabase, id: string, agent: string): Partial<SessionFacts> {
  if (!db.hasTable("session_windows")) return {};
  const window = db.get("SELECT * FROM session_windows WHERE session_id = :id", { id });
  if (window === undefined) return {};
  const key = textOf(window.session_key) ?? "";
  const node = nodeOf(db, key);
  const spawnedBy = textOf(window.spawned_by) ?? textOf(window.parent_session_key);
  const parent = spawnedBy === undefined ? undefined : sessionOf(db, spawnedBy, window.created_at);
  const kind = kindOf(key, parent && `${agent}-${parent}`);
  const previous = textOf(window.previous_session_id);
  const isCompaction = previous !== undefined && /compact/i.test(textOf(window.reason) ?? "");
  return {
    title: textOf(node?.label) ?? textOf(node?.display_name) ?? textOf(window.display_name),
    model: textOf(window.model),
    provider: textOf(window.model_provider),
    startedAt: timeOf(window.started_at) ?? timeOf(window.created_at),
    endedAt: timeOf(window.ended_at),
    ...(textOf(window.spawned_by) === undefined
      ? kind
      : { visibility: "subagent", parent: parent && `${agent}-${parent}` }),
    ...(isCompaction && { continues: { how: "compaction", session: `${agent}-${previous}` } }),
  };
}

function nodeOf(db: SourceDatabase, key: string): Json | undefined {
  if (!db.columnsOf("session_nodes").has("session_key")) return undefined;
  return db.get("SELECT * FROM session_nodes WHERE session_key = :key", { key });
}

/** The session that a chat was in at that time: a subagent names the chat that started it, not the session. */
function sessionOf(db: SourceDatabase, key: string, time: unknown): string | undefined {
  const sql = `SELECT session_id FROM session_windows WHERE session_key = :key AND created_at <= :time
    ORDER BY created_at DESC`;
  return textOf(db.get(sql, { key, time: Number(time) })?.session_id);
}
