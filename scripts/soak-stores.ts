// `npm run soak:stores [-- --minutes 10 --round-seconds 30]`: eight of our processes, and two that write like today's Hermes (the replay
// script of the golden vectors, with Python's SQLite), work on one database; some are killed. After each round, no acknowledged write may
// be lost, our index must equal a scan of the messages, and the data of Hermes must be unchanged. Prints one JSON line at the end.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { referenceReplay30 as replay } from "../packages/core/test/golden/vectors.ts";
import { SOAK_PARTS, SOAK_WORDS } from "./soak/messages.ts";

const OURS = 8;
const THEIRS = 2;
const KILLED = 3;

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "10" }, "round-seconds": { type: "string", default: "30" } },
});
const roundSeconds = Number(values["round-seconds"]);

const root = mkdtempSync(join(tmpdir(), "hermes-soak-"));
const path = join(root, "state.db");
const before = join(root, "before.json");
const totals = {
  rounds: 0,
  acknowledged: 0,
  kills: 0,
  replays: 0,
  replays_locked_out: 0,
  searches_compared: 0,
};
const deadline = performance.now() + Number(values.minutes) * 60_000;
try {
  python("create", path);
  python("replay", path, "--keep"); // its second open stamps the version of its index
  writeFileSync(before, python("fingerprint", path));
  do {
    await round(totals.rounds);
    totals.rounds += 1;
    console.error(JSON.stringify(totals));
  } while (performance.now() < deadline);
  console.log(JSON.stringify({ soak: "stores", minutes: Number(values.minutes), ...totals, ok: true }));
} finally {
  rmSync(root, { recursive: true, force: true });
}

type Line =
  | { readonly did: "add"; readonly session: string; readonly ids: readonly number[] }
  | { readonly did: "undo" | "deleting" | "deleted"; readonly session: string };

async function round(number: number): Promise<void> {
  const writers = Array.from({ length: OURS }, (_, at) => startWriter(`r${number}w${at}`));
  const replays = Array.from({ length: THEIRS }, () => replayFor(roundSeconds));
  for (const writer of writers.slice(0, KILLED)) {
    setTimeout(() => writer.child.kill("SIGKILL"), roundSeconds * 1000 * (0.2 + Math.random() * 0.7));
    totals.kills += 1;
  }
  const told = (await Promise.all(writers.map(({ lines }) => lines))).flat();
  await Promise.all(replays);
  totals.acknowledged += told.reduce((sum, line) => sum + (line.did === "add" ? line.ids.length : 0), 0);
  expectAllThere(told);
  await expectIndexIsExact();
  const checked = JSON.parse(python("check", path, before));
  if (!checked.ok) throw new Error(`Something of upstream's changed: ${JSON.stringify(checked)}`);
}

function startWriter(name: string): { readonly child: ChildProcess; readonly lines: Promise<Line[]> } {
  const script = join(import.meta.dirname, "soak/store-writer.ts");
  const child = spawn(process.execPath, [script, path, name, String(roundSeconds)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { child, lines: linesOf(child, name) };
}

/** A writer that was not killed must exit with 0. Of a killed one, the last line may be incomplete and is dropped. */
async function linesOf(child: ChildProcess, name: string): Promise<Line[]> {
  const out: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdout?.on("data", (part: Buffer) => out.push(part));
  child.stderr?.on("data", (part: Buffer) => errors.push(part));
  await once(child, "close");
  if (child.signalCode === null && child.exitCode !== 0)
    throw new Error(`Writer ${name} failed: ${Buffer.concat(errors)}`);
  const lines = Buffer.concat(out).toString("utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

/** A locked database is not a failure (the script waits one second and does not retry); a wrong result is. */
async function replayFor(seconds: number): Promise<void> {
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    const child = spawn("python3", [replay, "replay", path, "--keep"], { stdio: ["ignore", "pipe", "pipe"] });
    const out: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => out.push(part));
    child.stderr.on("data", (part: Buffer) => errors.push(part));
    await once(child, "close");
    if (/database is locked/.test(Buffer.concat(errors).toString("utf8"))) {
      totals.replays_locked_out += 1;
      continue;
    }
    const report = JSON.parse(Buffer.concat(out).toString("utf8")) as {
      steps: { step: string; ok: boolean; error?: string }[];
    };
    const failed = report.steps.filter(({ ok, error }) => !ok && !/database is locked/.test(error ?? ""));
    if (failed.length > 0) throw new Error(`Upstream's replay failed: ${JSON.stringify(failed)}`);
    totals.replays += 1;
  }
}

function expectAllThere(told: readonly Line[]): void {
  using db = new DatabaseSync(path, { readOnly: true });
  const gone = new Set(told.flatMap((line) => (line.did === "deleting" ? [line.session] : [])));
  const find = db.prepare("SELECT session_id FROM messages WHERE id = ?");
  for (const line of told) {
    if (line.did === "deleted") {
      const left = db.prepare("SELECT COUNT(*) AS rows FROM messages WHERE session_id = ?").get(line.session);
      if (left?.rows !== 0)
        throw new Error(`Session ${line.session} was deleted and has ${left?.rows} messages.`);
    }
    if (line.did !== "add" || gone.has(line.session)) continue;
    for (const id of line.ids)
      if (find.get(id)?.session_id !== line.session)
        throw new Error(`Message ${id} of ${line.session} was acknowledged and is gone.`);
  }
  const check = db.prepare("PRAGMA integrity_check").all();
  const complaints = check
    .map((row) => String(row.integrity_check))
    .filter((text) => text !== "ok" && !/messages_fts/.test(text));
  if (complaints.length > 0) throw new Error(`integrity_check: ${complaints.join("; ")}`);
}

/** A search for every word and part of a word, with and without undone rows, must find the same ids as a scan of all messages. */
async function expectIndexIsExact(): Promise<void> {
  await using store = await openSessionStore({ path, waitLimitMs: 120_000 });
  using db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare("SELECT id, content, active, compacted FROM messages").all() as {
    id: number;
    content: string | null;
    active: number;
    compacted: number;
  }[];
  for (const text of [...SOAK_WORDS, ...SOAK_PARTS]) {
    for (const includeInactive of [false, true]) {
      const hits = await store.searchMessages(`"${text}"`, { limit: -1, includeInactive, sort: "newest" });
      const found = hits.map(({ id }) => id).sort((a, b) => a - b);
      const isWord = SOAK_WORDS.includes(text);
      const wanted = rows
        .filter(({ active, compacted }) => includeInactive || active === 1 || compacted === 1)
        .filter(({ content }) =>
          isWord ? new RegExp(`\\b${text}\\b`, "i").test(content ?? "") : (content ?? "").includes(text),
        )
        .map(({ id }) => id);
      if (found.join() !== wanted.join())
        throw new Error(
          `'${text}': ${found.length} found, ${wanted.length} there (inactive rows ${includeInactive ? "included" : "left out"}).`,
        );
      totals.searches_compared += 1;
    }
  }
}

function python(...args: string[]): string {
  return execFileSync("python3", [replay, ...args], { encoding: "utf8", maxBuffer: 2 ** 26 });
}
