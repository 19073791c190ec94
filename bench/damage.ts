// Damages each page of a database in turn and reports how many files still open, what repair recovers and what is lost. Flags:
// `--pages 60` for a sample, `--damage zeros|noise`, `--file PATH` for another database than the generated one of 5 MB.
import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
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

function summarize(trials: readonly Trial[]): Record<string, unknown> {
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

// Makes a database of about 5 MB with everything a real one has: sessions of several kinds, long tool results in overflow pages,
// structured and Chinese content, and tables of another program.

const WORDS =
  "harbour crane copper lantern ledger willow anchor quarry thistle beacon deploy config router socket branch".split(
    " ",
  );

/** Returns the path. Only the timestamps differ between runs. */
export async function makeSubject(folder: string, sessions = 82): Promise<string> {
  const path = join(folder, "subject.db");
  {
    await using store = await openSessionStore({ path });
    for (let number = 0; number < sessions; number += 1) {
      const id = `2026010${number % 10}_${String(number).padStart(6, "0")}_session`;
      const parent =
        number % 7 === 6
          ? { parentSessionId: `2026010${(number - 1) % 10}_${String(number - 1).padStart(6, "0")}_session` }
          : {};
      await store.createSession(id, { source: ["cli", "telegram", "cron"][number % 3] ?? "cli", ...parent });
      if (number % 2 === 0)
        await store.setSessionTitle(id, `About ${WORDS[number % WORDS.length]} ${number}`);
      await store.appendMany(
        id,
        Array.from({ length: 40 }, (_, at) => message(number, at)),
      );
      await store.setMeta(`note_${number}`, text(number, 30));
      await store.saveOwnPrompt(id, text(number * 3, 200), 1);
    }
    await store.deleteSession("20260103_000013_session"); // so that there are free pages with old rows
  }
  using db = new DatabaseSync(path);
  db.exec("CREATE TABLE harbour_notes (note TEXT, weight REAL)");
  db.exec("CREATE TABLE harbour_tags (tag TEXT PRIMARY KEY, note TEXT) WITHOUT ROWID");
  const note = db.prepare("INSERT INTO harbour_notes (note, weight) VALUES (?, ?)");
  for (let at = 0; at < 300; at += 1) note.run(text(at, 20), at / 3);
  db.exec("INSERT INTO harbour_tags VALUES ('blue', 'crane'), ('old', 'lantern')");
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return path;
}

function message(session: number, at: number) {
  const tag = `session ${session} message ${at}`;
  if (at % 10 === 1) return { role: "assistant" as const, content: `${tag} 昨天讨论了琥珀灯塔的部署方案` };
  if (at % 10 === 3)
    return { role: "user" as const, content: [{ type: "text", text: `${tag} ${text(at, 30)}` }] };
  if (at % 10 === 5) {
    const long = at % 20 === 15 ? 1500 : 90;
    return {
      role: "tool" as const,
      content: `${tag} ${text(session + at, long)}`,
      toolName: "terminal",
      toolCallId: `c${at}`,
    };
  }
  return {
    role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: `${tag} ${text(session * at, 60)}`,
  };
}

function text(seed: number, length: number): string {
  return Array.from(
    { length },
    (_, at) => WORDS[(seed * 7 + at * 3 + ((at * seed) % 5)) % WORDS.length],
  ).join(" ");
}
