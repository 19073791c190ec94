// Reading a journal back: lines that never took effect, torn lines, lines about edits by other programs.
import { appendFileSync, mkdirSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatEntries } from "../../src/curated/entries.ts";
import { decodeRecord, encodeRecord } from "../../src/curated/journal.ts";
import type { ChangeRecord } from "../../src/curated/journal-replay.ts";
import { replayJournal } from "../../src/curated/journal-replay.ts";
import type { Change } from "../../src/curated/types.ts";
import { applyChange } from "../../src/curated/write-plan.ts";
import { sha256 } from "../../src/lib/index.ts";
import { addAll, done, type MemoryHome, memoryWith, refused } from "../fakes/memory-home.ts";

/** The journal line of a writer that died before it replaced the file. */
function diedAdding(home: MemoryHome, text: string, at: number): void {
  const before = home.text();
  const entries = before ? before.split("\n§\n") : [];
  const record: ChangeRecord = {
    kind: "change",
    id: "dead0001",
    time: "2026-01-02T03:04:05.000Z",
    origin: "tool",
    action: "add",
    changes: [{ at, before: null, after: text }],
    fileBefore: before === undefined ? null : sha256(before),
    fileAfter: sha256(formatEntries([...entries, text])),
  };
  mkdirSync(home.path(".history"), { recursive: true });
  appendFileSync(home.path(".history", "memory.jsonl"), `${JSON.stringify(encodeRecord(record))}\n`);
}

describe("a line whose writer died before the file was replaced", () => {
  it("counts as aborted, while it is the last and when others follow", async () => {
    const { home, store } = await memoryWith(["one"]);
    diedAdding(home, "never", 1);
    expect(store.history().map(({ status }) => status)).toContain("aborted");
    expect(store.undoCandidate()).toMatchObject({ changes: [{ after: "one" }] });
    await store.load();
    await addAll(store, ["two"]);
    expect(home.journal().map(({ action }) => action)).toEqual(["add", "add", "add"]); // no external line
    const lines = store.history({ target: "memory" });
    expect(lines.filter(({ id }) => id === "dead0001")).toMatchObject([{ status: "aborted" }]);
    expect(refused(await store.undo({ id: "dead0001" }), "no_match").message).toContain("never took effect");
    expect(store.explain("never").removed).toEqual([]);
  });
});

describe("a torn last line", () => {
  it("is skipped, and the next change gets a separate line", async () => {
    const { home } = await memoryWith(["one"]);
    appendFileSync(home.path(".history", "memory.jsonl"), '{"v":1,"id":"0badbeef","time":"2026-');
    const store = await home.open();
    expect(store.history()).toHaveLength(1);
    await addAll(store, ["two", "three"]);
    expect(store.history().map(({ changes }) => changes[0]?.after)).toEqual(["three", "two", "one"]);
    done(await store.undo());
    done(await store.undo());
    expect(home.text()).toBe("one");
  });
});

describe("lines that are not ours", () => {
  it("are ignored: other JSON, unknown kinds, records with fields of the wrong type", async () => {
    const { home, store } = await memoryWith(["one"]);
    const foreign = ['"text"', "[1]", "{}", '{"id":1,"time":2}', '{"id":"a","time":"b","kind":"song"}'];
    foreign.push('{"id":"a","time":"b","kind":"change","action":"add","changes":[{"at":"x"}]}');
    appendFileSync(home.path(".history", "memory.jsonl"), `${foreign.join("\n")}\nnot json\n`);
    expect(store.history()).toHaveLength(1);
    await addAll(store, ["two"]);
    expect(store.history()).toHaveLength(2);
  });
});

describe("replay", () => {
  const step = fc.record({
    kind: fc.constantFrom("add", "remove", "replace"),
    pick: fc.nat(20),
    text: fc.integer({ min: 0, max: 30 }).map((n) => `text ${n}`),
    isAborted: fc.boolean(),
  });

  it("gives the list back whatever was aborted on the way", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        let entries: string[] = [];
        const hashOf = (list: string[]): string | null => sha256(formatEntries(list));
        let hash: string | null = null;
        const records: ChangeRecord[] = [];
        const statuses: string[] = [];
        for (const [index, { kind, pick, text, isAborted }] of steps.entries()) {
          const at = entries.length === 0 ? 0 : pick % entries.length;
          const before = entries[at] ?? null;
          if (kind !== "remove" && entries.includes(text)) continue;
          if (kind !== "add" && before === null) continue;
          const change: Change =
            kind === "add"
              ? { at: entries.length, before: null, after: text }
              : { at, before, after: kind === "remove" ? null : text };
          const next = applyChange(entries, change);
          const head = {
            id: `id${index}`,
            time: String(index),
            origin: "tool",
            kind: "change",
            action: "add",
          } as const;
          records.push({ ...head, changes: [change], fileBefore: hash, fileAfter: hashOf(next) });
          statuses.push(isAborted ? "aborted" : "committed");
          if (isAborted) continue;
          entries = next;
          hash = hashOf(next);
        }
        const read = records.map((record) => decodeRecord(JSON.parse(JSON.stringify(encodeRecord(record))))!);
        expect(read).toEqual(records);
        const replay = replayJournal(read, hash);
        expect(replay.entries).toEqual(entries);
        expect(replay.changes.map(({ status }) => status)).toEqual(statuses);
        expect([...replay.known.keys()].sort()).toEqual([...entries].sort());
      }),
      { numRuns: 300 },
    );
  });
});
