// Processes that write to one database at the same time and are killed meanwhile. `npm run soak` does this for longer.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { openSessionStore, type SessionStore } from "../../../src/sessions/index.ts";
import { CHANGES, type ChangeKind, prepareChanges, ROWS_PER_CHANGE } from "../../fakes/changing-process.ts";
import { type Child, startScript } from "../../fakes/child.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { contentHash, messageAt } from "../../fakes/varied-messages.ts";

const isSoak = process.env.HERMES_SOAK === "1";
const SIZE = isSoak ? { messages: 5000, rounds: 20, kills: 20 } : { messages: 200, rounds: 3, kills: 2 };
const WRITERS = 4;
const LONG = { timeout: isSoak ? 3_600_000 : 120_000 };

it(
  `every acknowledged message of ${WRITERS} writers is there once, though one of them is killed in each of ${SIZE.rounds} rounds`,
  LONG,
  async () => {
    const path = join(tempDirectory(), "state.db");
    for (let round = 1; round <= SIZE.rounds; round += 1) {
      const start = performance.now();
      const told = await appendAndKill(path, round);
      const wrote = performance.now();
      await expectAllThere(path, told);
      const total = [...told.values()].reduce((sum, lines) => sum + lines.length, 0);
      const times = [wrote - start, performance.now() - wrote].map((ms) => (ms / 1000).toFixed(1));
      if (isSoak)
        console.log(`round ${round}: ${total} acknowledged in ${times[0]} s, checked in ${times[1]} s`);
    }
    expectReadableLog(path);
  },
);

const KINDS = Object.keys(CHANGES) as ChangeKind[];

it.for(KINDS)("%s is there whole or not at all after kill -9", LONG, async (kind) => {
  for (let round = 0; round < SIZE.kills; round += 1) {
    const path = join(tempDirectory(), "state.db");
    {
      await using store = await openSessionStore({ path });
      await prepareChanges(store, kind);
    }
    const { started, done } = await changeAndKill(path, kind);
    await using store = await openSessionStore({ path });
    const found = await CHECKS[kind](store);
    expect(found, `${done} acknowledged, ${started} begun`).toBeGreaterThanOrEqual(done);
    expect(found, `${done} acknowledged, ${started} begun`).toBeLessThanOrEqual(started);
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    await CHANGES[kind](store, found + 1); // leftovers of the killed process do not block the next one
    expect(await CHECKS[kind](store)).toBe(found + 1);
  }
});

/** What each writer reported, by session. */
async function appendAndKill(path: string, round: number): Promise<Map<string, string[]>> {
  const sessions = Array.from({ length: WRITERS }, (_, index) => `round-${round}-writer-${index}`);
  const writers = sessions.map((session) =>
    startScript("appending-process.ts", [path, session, String(SIZE.messages)]),
  );
  for (const writer of writers) expect(await writer.nextLine()).toBe("ready");
  const readers = ["read-only", "writable"].map((mode) => startScript("reading-process.ts", [path, mode]));
  for (const reader of readers) expect(await reader.nextLine()).toBe("ready");
  const victim = Math.floor(Math.random() * WRITERS);
  const killAfter = 1 + Math.floor(Math.random() * (SIZE.messages - 1));
  for (const writer of writers) writer.say("go");
  const told = await Promise.all(
    writers.map((writer, index) =>
      index === victim ? untilKilled(writer, (lines) => lines === killAfter) : writer.rest(),
    ),
  );
  for (const reader of readers) reader.closeInput();
  // `rest` rejects when a reader saw inconsistent data.
  for (const reader of readers) expect(Number((await reader.rest()).at(-1))).toBeGreaterThan(0);
  for (const [index, lines] of told.entries()) {
    if (index === victim) expect(lines.length).toBeGreaterThanOrEqual(killAfter);
    else expect(lines).toHaveLength(SIZE.messages);
  }
  return new Map(sessions.map((session, index) => [session, told[index] ?? []]));
}

/** Every line it printed. Reads until the end, because a full pipe would block the process before it is killed. */
async function untilKilled(child: Child, isTime: (lines: number) => boolean): Promise<string[]> {
  const lines: string[] = [];
  let killed: Promise<void> | undefined;
  for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) {
    lines.push(line);
    if (isTime(lines.length)) killed ??= child.kill();
  }
  await killed;
  return lines;
}

async function expectAllThere(path: string, told: ReadonlyMap<string, readonly string[]>): Promise<void> {
  await using store = await openSessionStore({ path });
  for (const [session, lines] of told) {
    const exported = await store.exportSession(session);
    const rows = exported?.messages ?? [];
    const found = rows.map((row) => `${row.id} ${contentHash(row.content)}`);
    expect(found.slice(0, lines.length)).toEqual(lines);
    // The message it was writing may be stored too: it was killed before it could report it.
    expect(found.length - lines.length).toBeLessThanOrEqual(lines.length < SIZE.messages ? 1 : 0);
    const wanted = rows.map((_, index) => contentHash(messageAt(session, index).content));
    expect(rows.map((row) => contentHash(row.content))).toEqual(wanted);
    const calls = rows.reduce(
      (sum, row) => sum + (Array.isArray(row.tool_calls) ? row.tool_calls.length : 0),
      0,
    );
    expect(exported).toMatchObject({ message_count: rows.length, tool_call_count: calls });
  }
  expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
}

/** No process has the file open, so the whole log can be merged into it. */
function expectReadableLog(path: string): void {
  using db = new DatabaseSync(path);
  expect(db.prepare("PRAGMA journal_mode").get()).toMatchObject({ journal_mode: "wal" });
  expect(db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()).toMatchObject({ busy: 0 });
}

/** Kills it during one of its first changes, chosen at random, at a random moment. */
async function changeAndKill(path: string, kind: ChangeKind): Promise<{ started: number; done: number }> {
  const child = startScript("changing-process.ts", [path, kind]);
  const last = 2 + Math.floor(Math.random() * 5);
  let started = 0;
  let done = 0;
  let begin = 0;
  let lastedMs = 0;
  let killed: Promise<void> | undefined;
  for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) {
    const [what, index] = line.split(" ");
    if (what === "start") started = Number(index);
    else done = Number(index);
    if (what === "start") begin = performance.now();
    else lastedMs = performance.now() - begin;
    // At a random moment of the change that has just started, based on the duration of the previous one.
    if (started === last) killed ??= delay(Math.random() * lastedMs).then(() => child.kill());
  }
  await killed;
  expect(killed, "ended before it was killed").toBeDefined();
  return { started, done };
}

/** Checks everything the changes touch, and returns how many of them are stored. */
const CHECKS: Readonly<Record<ChangeKind, (store: SessionStore) => Promise<number>>> = {
  async appendMany(store) {
    const names = await namesIn(store, "link-0");
    const batches = names.length / ROWS_PER_CHANGE - 1; // the first rows existed before
    const wanted = ["link-0", ...numbered("batch", batches)].flatMap((name) =>
      Array(ROWS_PER_CHANGE).fill(name),
    );
    expect(names).toEqual(wanted);
    return batches;
  },
  async continueSession(store) {
    const tip = await store.getCompressionTip("link-0");
    const links = Number(tip.split("-")[1]);
    expect(await store.sessionCount()).toBe(links + 1);
    for (let link = 0; link <= links; link += 1) {
      const session = await store.getSession(`link-${link}`);
      expect(session?.end_reason).toBe(link < links ? "compression" : null);
      expect(session?.title).toBe(link === 0 ? "harbour" : `harbour #${link + 1}`);
      expect(await namesIn(store, `link-${link}`)).toEqual(Array(ROWS_PER_CHANGE).fill(`link-${link}`));
    }
    return links;
  },
  async branchSession(store) {
    const branches = (await store.sessionCount()) - 1;
    const originals = (await store.getMessages("link-0")).map(({ id }) => id);
    for (let branch = 1; branch <= branches; branch += 1) {
      const copies = await store.getMessages(`branch-${branch}`);
      expect(copies.map((row) => row.origin_id)).toEqual(originals);
      expect(await store.getSession(`branch-${branch}`)).toMatchObject({
        title: `harbour #${branch + 1}`,
        message_count: ROWS_PER_CHANGE,
      });
    }
    return branches;
  },
  async replaceMessages(store) {
    const names = await namesIn(store, "link-0");
    const [first = ""] = names;
    expect(names).toEqual(Array(ROWS_PER_CHANGE).fill(first));
    return first === "link-0" ? 0 : Number(first.split("-")[1]);
  },
  async deleteSession(store) {
    let deleted = 0;
    while ((await store.getSession(`doomed-${deleted + 1}`)) === null) deleted += 1;
    for (const kind of ["doomed", "delegate"]) {
      for (let index = 1; index <= deleted; index += 1) {
        expect(await store.getSession(`${kind}-${index}`)).toBeNull();
        expect(await store.messageCount(`${kind}-${index}`)).toBe(0);
      }
      const next = `${kind}-${deleted + 1}`;
      expect(await namesIn(store, next)).toEqual(Array(ROWS_PER_CHANGE).fill(next));
    }
    return deleted;
  },
};

/** Which session or batch each message says it was written for; the counter must agree. */
async function namesIn(store: SessionStore, session: string): Promise<string[]> {
  const exported = await store.exportSession(session);
  expect(exported?.message_count).toBe(exported?.messages.length);
  return (exported?.messages ?? []).map(
    ({ content }) => /[a-z]+-\d+/.exec(JSON.stringify(content))?.[0] ?? "",
  );
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
}
