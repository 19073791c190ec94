// OpenClaw and its earlier names: per agent a folder of JSONL files in pi's shape, or a database with the same records.
import { basename, dirname, join } from "node:path";
import { format, type Said } from "../declare.ts";
import { databaseStamps } from "../kit/sqlite-source.ts";
import { recordOf } from "../kit/values.ts";
import { filesBelow, isFolder } from "../kit/walk.ts";
import type { Place, Reading } from "../reader.ts";
import { readOpenClawDatabase } from "./openclaw/database.ts";
import { sessionIndex } from "./openclaw/index-file.ts";
import { OPENCLAW_RULES } from "./openclaw/text.ts";
import { readPiFile, stemOf } from "./pi/file.ts";

const DATABASE = "openclaw-agent.sqlite";
/** The product's names in the order in which it looks for its folder; `.moldbot` is a misspelling that was shipped. */
const FOLDERS = [".openclaw", ".clawdbot", ".moldbot", ".moltbot"] as const;

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
    (recordOf(first)?.type === "session" && /[\\/]agents[\\/][^\\/]+[\\/]sessions[\\/]/.test(path)),
  read: (unit, reading) =>
    basename(unit.path) === DATABASE
      ? readOpenClawDatabase(unit.path, agentOf(unit.path), reading)
      : readFile(unit.path, reading),
});

/** Every folder that the product may have used on this machine, or the one that its settings name. */
function stateFolders({ home, env }: Place): readonly string[] {
  const named = env.OPENCLAW_STATE_DIR || env.CLAWDBOT_STATE_DIR;
  const ofUser = env.OPENCLAW_HOME || home;
  return named ? [named.replace(/^~(?=$|[\\/])/, ofUser)] : FOLDERS.map((folder) => join(ofUser, folder));
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
