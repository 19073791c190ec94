// The session database: whether it opens, whether its pages and its search index are sound, and files without a session.
import { readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { REVIEW_COUNTS_KEY, readReviewCounts } from "@hermes-memory/agent/internal/review";
import { sessionDatabasePath, sessionFiles } from "@hermes-memory/core/internal/home";
import { describeCause, HermesError } from "@hermes-memory/core/internal/lib";
import {
  findOrphans,
  type HomeStore,
  type OrphanFile,
  repairDatabase,
} from "@hermes-memory/core/internal/sessions";
import { counted, sizeText } from "../printing.ts";
import { type CheckedHome, type Finding, fail, fine, warn } from "./finding.ts";

const OTHERS_MAY_READ = 0o077;

export async function checkSessions({ home, memory }: CheckedHome): Promise<Finding[]> {
  const path = sessionDatabasePath(home);
  const without = withoutLog(path);
  if (without.length > 0) {
    const text = `${path}-wal was deleted while the database is open in process ${without.join(", ")}. What that stores may be lost.`;
    return [
      fail("sessions", text, "End it without force, so that it saves what it has, and start it again."),
    ];
  }
  try {
    const store = await memory.administrator.sessions({ mode: "read" });
    if (store === undefined) return [fine("sessions", "There is no session database yet.")];
    // Before stats(): counting fails on a damaged table.
    const { problems = [], indexChecked = true } = (await store.file?.checkHealth()) ?? {};
    if (problems.length > 0) return damaged(path, problems);
    const { sessions, archived, messages, bytes: size, index } = await store.stats();
    const found = fine(
      "sessions",
      `${sessions + archived} sessions, ${messages} messages, ${sizeText(size)}${indexChecked ? "" : "; the search index was not compared with them"}.`,
    );
    return [
      found,
      ...aboutIndex(index),
      ...aboutMode(path),
      ...(await aboutFiles(store, home)),
      ...(await aboutReviews(store)),
    ];
  } catch (cause) {
    // A file that cannot be opened is diagnosed as by 'hermes sessions repair --check-only'.
    const { problems = [] } = await repairDatabase(path, { checkOnly: true });
    if (problems.length > 0) return damaged(path, problems);
    const hint = cause instanceof HermesError ? cause.hint : undefined;
    return [fail("sessions", describeCause(cause), hint ?? "Run 'hermes sessions repair'.")];
  }
}

/** Processes that have a log open which is deleted. Only Linux tells. Opening the database would make a log that they do not see. */
function withoutLog(path: string): string[] {
  const links = (folder: string): string[] => {
    try {
      return readdirSync(folder).map((name) => `${folder}/${name}`);
    } catch {
      return []; // another system, a process that has ended, or one of another user
    }
  };
  const isGone = (link: string): boolean => {
    try {
      return readlinkSync(link) === `${realpathSync(path)}-wal (deleted)`;
    } catch {
      return false;
    }
  };
  const pids = links("/proc").flatMap((folder) => /\d+$/.exec(folder)?.[0] ?? []);
  return pids.filter((pid) => links(`/proc/${pid}/fd`).some(isGone));
}

function damaged(path: string, problems: readonly string[]): Finding[] {
  const remedy = "Run 'hermes sessions repair'; it keeps a copy of the file.";
  return problems.map((problem) => fail("sessions", `${path}: ${problem}.`, remedy));
}

function aboutIndex(index: string): Finding[] {
  if (index !== "building") return [];
  const remedy = "It goes on with the next command that writes; 'hermes sessions optimize' finishes it now.";
  return [warn("sessions", "The search index is still being built.", remedy)];
}

/** Files whose session was deleted. A snapshot that may be the only copy of a conversation is mentioned, not offered for deletion. */
async function aboutFiles(store: HomeStore, home: string): Promise<Finding[]> {
  const { results, snapshots, unknownSnapshots } = await findOrphans(store, sessionFiles(home), {
    nowMs: Date.now(),
  });
  const findings: Finding[] = [];
  const orphans = [...results, ...snapshots];
  if (orphans.length > 0) {
    const what = [
      ...(results.length > 0 ? [counted(results.length, "tool result")] : []),
      ...(snapshots.length > 0 ? [counted(snapshots.length, "JSON snapshot")] : []),
    ];
    const text = `${what.join(" and ")} of sessions that are gone, ${sizeText(sizeOf(orphans))}.`;
    findings.push(
      warn("files", text, "'hermes sessions prune --orphans' lists them, asks, and removes them."),
    );
  }
  if (unknownSnapshots.length > 0) {
    const text = `${counted(unknownSnapshots.length, "conversation")} in ${sessionFiles(home).sessionsDir}, ${sizeText(sizeOf(unknownSnapshots))}, that this database does not have. A file may be the only copy, so nothing removes it.`;
    findings.push(fine("files", text));
  }
  return findings.length > 0 ? findings : [fine("files", "Every file of a session has its session.")];
}

function sizeOf(files: readonly OrphanFile[]): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}

/** Background reviews report failures nowhere else. */
async function aboutReviews(store: HomeStore): Promise<Finding[]> {
  const stored = await store.getMeta(REVIEW_COUNTS_KEY);
  if (stored === null) return [];
  const { runs, failures, ...last } = readReviewCounts(stored);
  const text = `${counted(runs, "background review")}, ${failures} failed.`;
  if (last.last_failure_at === null || last.last_failure_at !== last.last_at) return [fine("review", text)];
  return [
    warn(
      "review",
      `${text} So did the last one: ${last.last_error ?? "no reason was recorded"}`,
      "Ask the model something with 'hermes model test'. Reviews can be switched off: memory.nudge_interval: 0 and skills.creation_nudge_interval: 0.",
    ),
  ];
}

function aboutMode(path: string): Finding[] {
  if (process.platform === "win32" || (statSync(path).mode & OTHERS_MAY_READ) === 0) return [];
  return [warn("sessions", `Other users of this machine may read ${path}.`, `chmod 600 ${path}*`)];
}
