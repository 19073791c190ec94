// Several processes on one lane; kill -9 while a batch is being sent; what keeps a process alive.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Child, startScript } from "../../../core/test/fakes/child.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { readOutbox } from "../../src/kit/outbox/commands.ts";
import type { Batch } from "../../src/kit/outbox/outbox.ts";
import { DELIVERED, textsOf } from "../fakes/outbox.ts";

const OUTBOX_PROCESS = join(import.meta.dirname, "../fakes/outbox-process.ts");

async function serve(home: string): Promise<Child> {
  const child = startScript(OUTBOX_PROCESS, [home, "serve"]);
  expect(await child.nextLine()).toBe("ready");
  return child;
}

/** The next line that begins with the word. */
async function hear<T>(child: Child, word: string): Promise<T> {
  for (;;) {
    const line = await child.nextLine();
    if (line === undefined) throw new Error(`the child ended before it said ${word}`);
    if (line === word || line.startsWith(`${word} `)) return JSON.parse(line.slice(word.length) || "null");
  }
}

const answer = `answer ${JSON.stringify(DELIVERED)}`;

describe("processes that share a lane", () => {
  it("after kill -9 another process repeats the batch at once: same id, same items, attempt 2; then the rest", async () => {
    const home = tempDirectory();
    const [first, second] = [await serve(home), await serve(home)];
    for (const text of ["a", "b", "c", "d"]) {
      first.say(`add ${text}`);
      await hear(first, "added");
    }
    first.say("start");
    const sent = await hear<Batch>(first, "deliver");
    expect([textsOf(sent), sent.attempt]).toEqual([["a", "b", "c"], 1]);
    second.say("start");
    second.say("add e");
    await hear(second, "added");
    second.say("state");
    expect(await hear(second, "state")).toMatchObject({ waiting: 5 });
    await first.kill();
    expect(await hear<Batch>(second, "deliver")).toEqual({ ...sent, attempt: 2 });
    second.say(answer);
    expect(textsOf(await hear<Batch>(second, "deliver"))).toEqual(["d", "e"]);
    second.say(answer);
    await expect.poll(() => readOutbox(home)[0]?.state.waiting).toBe(0);
  });

  it("never send the same batch at the same time, and send every write once and in order", async () => {
    const home = tempDirectory();
    const children = await Promise.all([serve(home), serve(home), serve(home)]);
    const open = new Set<string>();
    const sent: string[] = [];
    const listening = children.map(async (child) => {
      for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) {
        const [, word, rest = "null"] = /^(\S+) ?(.*)$/.exec(line) ?? [];
        if (word === "deliver") {
          const batch: Batch = JSON.parse(rest);
          expect(batch.attempt).toBe(1);
          expect(open.has(batch.id)).toBe(false);
          open.add(batch.id);
          sent.push(...textsOf(batch));
        }
      }
    });
    for (const [at, child] of children.entries()) {
      child.say(`start ${JSON.stringify(DELIVERED)}`);
      child.say(`add-many 100 p${at}-`);
    }
    await expect.poll(() => sent.length, { timeout: 60_000 }).toBe(300);
    await expect.poll(() => readOutbox(home)[0]?.state.waiting, { timeout: 10_000 }).toBe(0);
    for (const child of children) child.closeInput();
    for (const child of children) await child.kill();
    await Promise.all(listening);
    expect(new Set(sent).size).toBe(300);
    for (const at of [0, 1, 2])
      expect(sent.filter((text) => text.startsWith(`p${at}-`))).toEqual(
        Array.from({ length: 100 }, (_, n) => `p${at}-${n}`),
      );
  });

  it("lose nothing when they are killed at random moments", async () => {
    const home = tempDirectory();
    const taken = new Map<string, Batch>();
    const added = new Set<string>();
    for (let round = 0; round < 15; round += 1) {
      const child = await serve(home);
      child.say(`start ${JSON.stringify(DELIVERED)}`);
      for (let at = 0; at < 8; at += 1) child.say(`add r${round}-${at}`);
      const lines = 1 + Math.floor(Math.random() * 9); // eight are added, and at least one batch is delivered
      let count = 0;
      const listen = (line: string, isKilled: boolean) => {
        const [, word, rest = "null"] = /^(\S+) ?(.*)$/.exec(line) ?? [];
        if (word === "added") added.add(`r${round}-${count++}`);
        if (word !== "deliver" || (isKilled && !rest.endsWith("}"))) return;
        const batch: Batch = JSON.parse(rest);
        const before = taken.get(batch.id);
        if (before !== undefined) expect(batch.items).toEqual(before.items);
        taken.set(batch.id, batch);
      };
      for (let at = 0; at < lines; at += 1) listen((await child.nextLine()) ?? "", false);
      await child.kill();
      for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine())
        listen(line, true);
    }
    const last = await serve(home);
    last.say(`start ${JSON.stringify(DELIVERED)}`);
    const reading = (async () => {
      for (let line = await last.nextLine(); line !== undefined; line = await last.nextLine())
        if (line.startsWith("deliver ")) {
          const batch: Batch = JSON.parse(line.slice(8));
          taken.set(batch.id, batch);
        }
    })();
    await expect.poll(() => readOutbox(home)[0]?.state.waiting, { timeout: 30_000 }).toBe(0);
    await last.kill();
    await reading;
    const texts = [...taken.values()].flatMap(textsOf);
    expect(new Set(texts).size).toBe(texts.length); // a repeated batch has its old id
    for (const text of added) expect(texts).toContain(text);
    expect(added.size).toBeGreaterThan(15);
  });
});

describe("a process with an outbox", () => {
  it.each(["idle", "hang"])(
    "lives until a running flush is over, and is not kept alive by its open lane (%s)",
    async (scenario) => {
      const home = tempDirectory();
      expect(await startScript(OUTBOX_PROCESS, [home, scenario]).rest()).toEqual(["left 1"]);
      expect(readOutbox(home)).toMatchObject([{ state: { waiting: 1 } }]);
    },
  );
});
