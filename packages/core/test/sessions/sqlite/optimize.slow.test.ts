// Completing and merging the index and VACUUM, stopped at every point, and while other processes work.
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { startScript } from "../../fakes/child.ts";
import { startMounted, whyNoMounts } from "../../fakes/mounts.ts";
import {
  documentsOf,
  documentsOfFresh,
  finishIndex,
  makeReferenceFile,
  newPath,
  query,
  type ReferenceMessage,
} from "../../fakes/session-index.ts";

const fakes = resolve(import.meta.dirname, "../../fakes");
const MESSAGES = 4_000;
const PER_SESSION = 20;
const WORDS = ["harbour", "crane", "velvet", "anchor", "quartz", "wharf", "moss", "bridge", "opal", "hinge"];

/** Messages of all kinds. Row n says `word<n>` and belongs to session s<n / 20>. */
function* corpus(messages: number): Generator<ReferenceMessage> {
  for (let n = 1; n <= messages; n += 1) {
    const session = `s${Math.floor((n - 1) / PER_SESSION)}`;
    const words = `word${n} ${Array.from({ length: 12 }, (_, at) => WORDS[(n * (at + 3)) % 10]).join(" ")}`;
    const args = JSON.stringify({ query: words, depth: n });
    const parts = JSON.stringify([{ type: "text", text: words }]);
    switch (n % 10) {
      case 0:
        yield { session, content: `昨天讨论了琥珀灯塔的部署方案${n} ${words}` };
        break;
      case 3:
        yield {
          session,
          content: null,
          toolCalls: `[{"function": {"name": "grep", "arguments": ${JSON.stringify(args)}}}]`,
        };
        break;
      case 5:
        yield { session, content: words, toolName: "read_file" };
        break;
      case 7:
        yield { session, content: `\0json:${parts}` };
        break;
      default:
        yield { session, content: words };
    }
  }
}

function referenceFile(messages = MESSAGES): string {
  const path = newPath();
  makeReferenceFile(path, corpus(messages));
  return path;
}

async function expectWhole(path: string): Promise<void> {
  await finishIndex(path);
  expect(documentsOf(path)).toEqual(await documentsOfFresh(path));
}

/** Segments of the index. */
const pieces = (path: string) => query(path, "SELECT DISTINCT segid FROM hermes_memory_fts_idx").length;

describe("optimize", () => {
  it("builds the index, makes one piece of it, gives free space back, and leaves the original's index alone", async () => {
    const path = referenceFile();
    const theirs = "SELECT name, sql FROM sqlite_master WHERE name GLOB 'messages_fts*' ORDER BY name";
    const before = query(path, theirs);
    await using store = await openSessionStore({ path });
    for (let n = 0; n < 100; n += 1) await store.deleteSession(`s${n}`);
    const outcome = await store.file!.optimize();
    expect(outcome).toMatchObject({ finished: true, vacuum: "done" });
    expect(outcome.bytesAfter).toBeLessThan(outcome.bytesBefore);
    expect(query(path, "PRAGMA freelist_count")).toEqual([{ freelist_count: 0 }]);
    expect(pieces(path)).toBe(1);
    expect(query(path, theirs)).toEqual(before);
    expect((await store.stats()).index).toBe("ready");
    expect(await store.file!.optimize()).toMatchObject({ finished: true, vacuum: "done" });
    await store.close();
    await expectWhole(path);
  });

  it("does not rewrite a file that another process has open, and says so", async () => {
    const path = referenceFile(50);
    const other = startScript("append-and-stay.ts", [path, "s0", "x"]);
    await other.nextLine();
    await using store = await openSessionStore({ path });
    expect(await store.file!.optimize()).toMatchObject({
      finished: true,
      vacuum: process.platform === "linux" ? "in-use" : "done",
    });
    await other.kill();
    expect(await store.file!.optimize()).toMatchObject({ finished: true, vacuum: "done" });
    expect(await store.file!.optimize({ vacuum: false })).toMatchObject({ vacuum: "not-asked" });
  });

  it("does nothing but say so when it is stopped before it began", async () => {
    const path = referenceFile(50);
    await using store = await openSessionStore({ path });
    expect(await store.file!.optimize({ signal: AbortSignal.abort() })).toMatchObject({
      finished: false,
      vacuum: "not-asked",
    });
  });

  it.each(["building the search index", "merging the search index", "giving space back"])(
    "can be killed while it is %s",
    async (step) => {
      const path = referenceFile();
      const child = startScript("optimizing-process.ts", [path]);
      for (let said = await child.nextLine(); said !== undefined; said = await child.nextLine())
        if ((JSON.parse(said) as { step?: string }).step === step) break;
      await child.kill();
      await expectWhole(path);
      await using store = await openSessionStore({ path });
      expect(await store.file!.optimize()).toMatchObject({ finished: true });
      expect(await store.messageCount()).toBe(MESSAGES);
    },
  );

  describe.skipIf(whyNoMounts !== undefined)("short of space for temporary files", () => {
    it("leaves a working database", async () => {
      const path = referenceFile(4 * MESSAGES); // more than SQLite sorts in memory
      await finishIndex(path);
      const tiny = join(dirname(path), "tiny");
      mkdirSync(tiny);
      const script = join(fakes, "optimizing-process.ts");
      const setUp = 'mount -t tmpfs -o size=512k tmpfs "$1"; export SQLITE_TMPDIR="$1"';
      const lines = await startMounted(setUp, [tiny], [process.execPath, script, path]).rest();
      expect(JSON.parse(lines.at(-1) ?? "")).toEqual({ error: "session-db-full" });
      await using store = await openSessionStore({ path });
      await store.appendMessage("s0", { role: "user", content: "afterwards" });
      expect(await store.file!.optimize()).toMatchObject({ finished: true, vacuum: "done" });
      await store.close();
      await expectWhole(path);
    });
  });
});
