// After any sequence of operations, the file, the live list, a fresh store and the journal agree.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatEntries } from "../../src/curated/entries.ts";
import { decodeRecord } from "../../src/curated/journal.ts";
import { replayJournal } from "../../src/curated/journal-replay.ts";
import type { MemoryOp, MemoryStore } from "../../src/index.ts";
import { readJsonLines, sha256, writeFileAtomic } from "../../src/lib/index.ts";
import { MemoryHome, memoryWith } from "../fakes/memory-home.ts";

const text = fc.oneof(
  fc.constantFrom(
    "oak",
    "oak chair",
    "elm",
    "§",
    "§\nash",
    "two\nlines",
    "🪑",
    "x".repeat(30),
    " padded ",
    "a\n§\nb",
    "",
  ),
  fc.string({ unit: "grapheme", maxLength: 12 }),
);

const op: fc.Arbitrary<MemoryOp> = fc.oneof(
  { weight: 4, arbitrary: text.map((content): MemoryOp => ({ action: "add", content })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(text, text)
      .map(([oldText, content]): MemoryOp => ({ action: "replace", oldText, content })),
  },
  { weight: 2, arbitrary: text.map((oldText): MemoryOp => ({ action: "remove", oldText })) },
);

type Step =
  | { kind: "ops"; ops: MemoryOp[] }
  | { kind: "undo" | "reset" | "restore" | "crash" }
  | { kind: "edit"; entries: string[] };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.array(op, { minLength: 1, maxLength: 3 }).map((ops): Step => ({ kind: "ops", ops })),
  },
  { weight: 2, arbitrary: fc.constantFrom<Step>({ kind: "undo" }, { kind: "crash" }, { kind: "restore" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: "reset" }) },
  {
    weight: 1,
    arbitrary: fc
      .uniqueArray(fc.constantFrom("oak", "elm", "yew", "a hand edit", "§"), { maxLength: 4 })
      .map((entries): Step => ({ kind: "edit", entries })),
  },
);

const OPTIONS = { memoryCharLimit: 60, overflow: "archive", historyMaxBytes: 4000, historyKeep: 8 } as const;

async function take(
  step: Step,
  store: MemoryStore,
  home: MemoryHome,
  disk: { isFailing: boolean },
): Promise<void> {
  switch (step.kind) {
    case "ops":
      await store.applyAll("memory", step.ops);
      return;
    case "undo":
      await store.undo();
      return;
    case "reset":
      await store.reset("memory");
      return;
    case "restore":
      await store.restore(store.archived()[0]?.id ?? "none");
      return;
    case "crash":
      disk.isFailing = true;
      await store.apply("memory", { action: "add", content: `never ${Math.random()}` });
      disk.isFailing = false;
      return;
    case "edit":
      home.write(formatEntries(step.entries));
      await store.load();
      return;
    default:
      return step satisfies never;
  }
}

function openFaulty(home: MemoryHome): { opened: Promise<MemoryStore>; disk: { isFailing: boolean } } {
  const disk = { isFailing: false };
  const opened = home.open({
    ...OPTIONS,
    writeFile: (path, data, options) => {
      if (!disk.isFailing) return writeFileAtomic(path, data, options);
      options?.beforeReplace?.();
      throw new Error("crashed here");
    },
  });
  return { opened, disk };
}

describe("after any sequence of operations, undos, crashes and hand edits", () => {
  it("the file, the live list, a fresh store and the journal agree after every step", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const home = new MemoryHome();
        const { opened, disk } = openFaulty(home);
        const store = await opened;
        for (const each of steps) {
          await take(each, store, home, disk);
          const live = [...store.entries("memory")];
          const file = home.text();
          if (each.kind !== "edit") expect(file ?? "").toBe(formatEntries(live));
          expect([...(await home.open(OPTIONS)).entries("memory")]).toEqual(live);
          const { values, damaged } = readJsonLines(home.path(".history", "memory.jsonl"));
          const records = values.map((value) => decodeRecord(value)!);
          const hash = file === undefined ? null : sha256(readFileSync(home.path("MEMORY.md")));
          const replay = replayJournal(records, hash);
          expect([replay.entries ?? [], damaged]).toEqual([live, 0]);
        }
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  it("taking back the last change right away gives the bytes before it", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ unit: "grapheme", minLength: 1, maxLength: 10 }), { maxLength: 5 }),
        fc.array(op, { minLength: 1, maxLength: 4 }),
        async (first, ops) => {
          const { home, store } = await memoryWith([], OPTIONS);
          for (const content of first) await store.apply("memory", { action: "add", content });
          const before = home.text() ?? "";
          const outcome = await store.applyAll("memory", ops);
          if (!outcome.ok || outcome.value.changeId === undefined) {
            expect(home.text() ?? "").toBe(before);
            return;
          }
          const undone = await store.undo({ id: outcome.value.changeId });
          expect(undone).toMatchObject({ ok: true });
          expect(home.text()).toBe(before);
        },
      ),
      { numRuns: 120 },
    );
  }, 60_000);

  it("no accepted text is ever lost: it is in the file, in the archive, or in the journal as removed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 25 }), async (ops) => {
        const { store } = await memoryWith([], { ...OPTIONS, historyMaxBytes: 1e6 });
        const accepted = new Set<string>();
        for (const each of ops) {
          const outcome = await store.apply("memory", each);
          if (outcome.ok) for (const entry of outcome.value.entries) accepted.add(entry);
        }
        const archived = store.archived().map((entry) => entry.text);
        const removed = store.history().flatMap(({ changes }) => changes.map(({ before }) => before));
        for (const entry of accepted)
          expect([...store.entries("memory"), ...archived, ...removed]).toContain(entry);
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});
