// Repairs a database whose schema SQLite calls malformed. Everything is rehearsed on a copy first, and only what healed
// the copy is done to the file, in one transaction: a file that cannot be repaired keeps every byte it had.
import { realpathSync, rmSync, statSync } from "node:fs";
import { describeCause, errnoCode, randomHex } from "../../lib/index.ts";
import { census, look } from "./damage.ts";
import { copyDatabase, keepCopy } from "./database-copy.ts";
import { apply, type RepairStrategy, rebuildWrongIndexes, STEPS, type Step } from "./repair-steps.ts";
import { patiently } from "./surgery.ts";

export { isMalformed, isNotSqlite } from "./damage.ts";
export type { RepairStrategy } from "./repair-steps.ts";

export type RepairReport = {
  readonly repaired: boolean;
  readonly strategy: RepairStrategy | null;
  readonly backup_path: string | null;
  readonly error: string | null;
  /** How many sessions the file holds, when they could be counted. */
  readonly sessions?: number;
  readonly healthy?: boolean;
};

export type RepairOptions = {
  /** Keep a copy of the file as it was. Default true. */
  readonly backup?: boolean;
  /** Only look; nothing is changed. */
  readonly checkOnly?: boolean;
  /** Names the backup. Default: now. */
  readonly now?: Date;
};

/**
 * Never rejects. A healthy file is reported as repaired; of it at most a wrong search index is made anew.
 * `drop_fts_rebuild` leaves a file without search index, which the next writable open builds.
 */
export async function repairDatabase(path: string, options: RepairOptions = {}): Promise<RepairReport> {
  try {
    return await attempt(path, options);
  } catch (cause) {
    return report({ error: `${path} was not repaired: ${describeCause(cause)}` });
  }
}

async function attempt(path: string, options: RepairOptions): Promise<RepairReport> {
  const file = existing(path);
  if (file === undefined) return report({ error: `${path} does not exist` });
  const found = await look(file);
  if (found.kind === "healthy") {
    if (options.checkOnly) return healthy(found, false, null);
    await patiently(() => rebuildWrongIndexes(file));
    return healthy(found, true, "dedup_schema");
  }
  if (found.kind === "unusable" || options.checkOnly)
    return report({ error: `${path}: ${found.problem}`, healthy: false });

  let backup: string | null = null;
  let outcome: RepairReport;
  try {
    if (options.backup !== false) backup = await keepCopy(file, options.now ?? new Date());
    outcome = await heal(path, file);
  } catch (cause) {
    outcome = report({ error: `${path} was not repaired: ${describeCause(cause)}`, healthy: false });
  }
  // Programs that open a damaged file at the same time get into each other's way; one of them may have healed it.
  const after = outcome.repaired ? undefined : await look(file);
  if (after?.kind === "healthy") outcome = healthy(after, true, "dedup_schema");
  return { ...outcome, backup_path: backup };
}

async function heal(path: string, file: string): Promise<RepairReport> {
  const rehearsal = `${file}.repair-${randomHex(6)}`;
  let problem = "";
  try {
    await copyDatabase(file, rehearsal);
    const before = census(rehearsal);
    for (const step of STEPS) {
      const outcome = await rehearse(step, rehearsal, before.rows);
      if (outcome === undefined) return await perform(step, path, file, before.cookie);
      problem = outcome;
    }
  } finally {
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(rehearsal + suffix, { force: true });
  }
  const error = `${path} cannot be repaired (${problem}) and was left as it was.`;
  return report({ error, healthy: false });
}

/** What is still wrong with the copy afterwards; undefined when it is healed. */
async function rehearse(
  step: Step,
  copy: string,
  before: ReadonlyMap<string, number>,
): Promise<string | undefined> {
  try {
    await apply(step, copy);
  } catch (cause) {
    return describeCause(cause);
  }
  const after = await look(copy);
  if (after.kind !== "healthy") return after.problem;
  const left = census(copy).rows;
  const short = [...before].find(([table, rows]) => (left.get(table) ?? -1) < rows);
  return short === undefined ? undefined : `${step.strategy} would lose rows of ${short[0]}`;
}

async function perform(step: Step, path: string, file: string, cookie: number): Promise<RepairReport> {
  const applied = await apply(step, file, cookie);
  const found = await look(file);
  if (found.kind === "healthy") return healthy(found, true, step.strategy);
  const why = applied ? found.problem : "another program changed it at the same time; try again";
  return report({ error: `${path} was not repaired: ${why}`, healthy: false });
}

/** What the path leads to, where SQLite keeps the -wal beside it; undefined when there is nothing. */
function existing(path: string): string | undefined {
  try {
    const file = realpathSync(path);
    if (!statSync(file).isFile()) throw new Error("it is not a file");
    return file;
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return undefined;
    throw cause;
  }
}

function report(parts: Partial<RepairReport>): RepairReport {
  return { repaired: false, strategy: null, backup_path: null, error: null, ...parts };
}

function healthy(
  found: { readonly sessions: number },
  repaired: boolean,
  strategy: RepairStrategy | null,
): RepairReport {
  return report({ repaired, strategy, sessions: found.sessions, healthy: true });
}
