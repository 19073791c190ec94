// Damages each page of a database in turn and reports how many files still open, what repair recovers and what is lost. Flags:
// `--pages 60` for a sample, `--damage zeros|noise`, `--file PATH` for another database than the generated one of 5 MB.
import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeSubject } from "./damage/subject.ts";
import { type Damage, type Subject, subjectOf, type Trial, tryPage } from "./damage/trial.ts";

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const folder = mkdtempSync(join(tmpdir(), "hermes-damage-"));
  try {
    const path = flags.file === undefined ? await makeSubject(folder) : copyInto(folder, flags.file);
    const subject = subjectOf(path);
    const damage: Damage = flags.damage === "noise" ? "noise" : "zeros";
    const pages = samplePages(subject, flags.pages === undefined ? subject.pages : Number(flags.pages));
    const trials: Trial[] = [];
    for (const page of pages) {
      trials.push(await tryPage(subject, page, damage));
      if (trials.length % 50 === 0) console.error(`${trials.length} of ${pages.length} pages`);
    }
    return { bench: "damage", damage, bytes: statSync(path).size, ...summarize(trials) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function copyInto(folder: string, file: string): string {
  const path = join(folder, "subject.db");
  copyFileSync(file, path);
  return path;
}

/** Spread over the file, with at least one page of every kind that occurs. */
export function samplePages(subject: Subject, count: number): number[] {
  if (count >= subject.pages) return Array.from({ length: subject.pages }, (_, at) => at + 1);
  const chosen = new Map<string, number>();
  for (let page = 1; page <= subject.pages; page += 1) {
    const { owner, kind } = subject.factsOf(page);
    const key = `${owner.replace(/^messages_fts.*|^idx_.*/, (name) => name.slice(0, 4))} ${kind}`;
    if (!chosen.has(key)) chosen.set(key, page);
  }
  const pages = new Set(chosen.values());
  const step = subject.pages / Math.max(1, count - pages.size);
  for (let at = 1; at <= subject.pages && pages.size < count; at += step) pages.add(Math.floor(at));
  return [...pages].sort((a, b) => a - b);
}

export function summarize(trials: readonly Trial[]): Record<string, unknown> {
  const count = (is: (trial: Trial) => boolean): number => trials.filter(is).length;
  const strategies: Record<string, number> = {};
  for (const { report } of trials) {
    const name = report.repaired ? (report.strategy ?? "none") : "not repaired";
    strategies[name] = (strategies[name] ?? 0) + 1;
  }
  const lostRows: Record<string, number> = {};
  for (const { lost } of trials)
    for (const [table, rows] of Object.entries(lost)) lostRows[table] = (lostRows[table] ?? 0) + rows;
  return {
    pages: trials.length,
    open: count(({ opens }) => opens),
    repaired: count(({ report }) => report.repaired),
    nothing_lost: count(({ lost }) => Object.keys(lost).length === 0),
    strategies,
    lost_rows: lostRows,
    most_messages_lost_by_one_page: Math.max(0, ...trials.map(({ lost }) => lost.messages ?? 0)),
    rows_missing_from_other_pages: trials.flatMap(({ page, facts, missing }) =>
      missing.map((what) => `page ${page} (${facts.owner} ${facts.kind}): ${what}`),
    ),
    misreported: trials.flatMap(({ page, facts, misreported }) =>
      misreported.map((what) => `page ${page} (${facts.owner} ${facts.kind}): ${what}`),
    ),
    altered: trials.reduce((sum, { altered }) => sum + altered, 0),
    invented: trials.flatMap(({ page, invented }) => invented.map((what) => `page ${page}: ${what}`)),
  };
}
