import { readdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import {
  dropWrites,
  eraseInOutbox,
  findInOutbox,
  knownEntries,
  listDead,
  listWaiting,
  readOutbox,
  retryDead,
} from "../../src/kit/outbox/commands.ts";
import { DELIVERED, inFile, REFUSED, server, testLane, textsOf, turn } from "../fakes/outbox.ts";

/** Two dead letters of mem0, one of honcho, and one write that waits; all lanes are closed. */
async function filledHome(): Promise<string> {
  const home = tempDirectory();
  for (const [provider, texts] of [
    ["mem0", ["bad one", "good", "bad two"]],
    ["honcho", ["bad three"]],
  ] as const) {
    const lane = testLane(home, { provider, user: "u" });
    for (const text of texts) await lane.add(turn(text, { body: { text, role: "user" } }));
    lane.start(
      async (batch) => (textsOf(batch)[0]?.startsWith("bad") ? REFUSED : DELIVERED),
      () => 1,
    );
    expect(await lane.flush(5_000)).toBe(0);
    if (provider === "mem0") lane.add(turn("waits", { isHeld: true }));
    lane.close();
  }
  return home;
}

describe("the outbox without a provider", () => {
  it("shows all lanes, and neither makes nor changes a file", async () => {
    const empty = tempDirectory();
    expect([
      readOutbox(empty),
      listDead(empty),
      findInOutbox(empty, "x"),
      retryDead(empty, [1]),
      dropWrites(empty, [1]),
    ]).toEqual([[], [], [], 0, 0]);
    expect(readdirSync(empty)).toEqual([]);
    writeFileSync(`${empty}/memory_outbox.db`, ""); // a process was killed right after it had made the file
    expect(readOutbox(empty)).toEqual([]);

    const home = await filledHome();
    await expect.poll(() => readdirSync(home)).toEqual(["memory_outbox.db"]);
    expect(readOutbox(home)).toMatchObject([
      { provider: "honcho", user: "u", state: { waiting: 0, held: 0, dead: 1 } },
      {
        provider: "mem0",
        user: "u",
        state: { waiting: 0, held: 1, dead: 2, lastError: { message: "field text is too long" } },
      },
    ]);
    expect(readdirSync(home)).toEqual(["memory_outbox.db"]);
  });

  it("lists dead letters with a preview", async () => {
    const home = await filledHome();
    expect(listDead(home, "mem0")).toEqual([
      {
        id: 1,
        provider: "mem0",
        user: "u",
        kind: "turn",
        sessionId: "s1",
        createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
        error: "field text is too long",
        preview: "bad one user",
      },
      expect.objectContaining({ id: 3, preview: "bad two user" }),
    ]);
    inFile(home, `UPDATE items SET body = '{"text":"${"long ".repeat(40)}"}' WHERE id = 1`);
    expect([...(listDead(home, "mem0")[0]?.preview ?? "")]).toHaveLength(80 + "...".length);
    expect(listDead(home)).toHaveLength(3);
  });

  it("retries dead letters before everything that was queued after them, each by itself", async () => {
    const home = await filledHome();
    const lane = testLane(home, { user: "u" });
    await lane.add(turn("newer"));
    expect(retryDead(home, [1, 3])).toBe(2);
    expect(lane.state()).toMatchObject({ waiting: 3, dead: 0 });
    const { deliver, texts, batches } = server();
    lane.start(deliver, () => 10);
    lane.release("s1");
    expect(await lane.flush(5_000)).toBe(0);
    expect(texts()).toEqual([["bad one"], ["bad two"], ["waits", "newer"]]);
    expect(batches[0]?.attempt).toBe(1); // all three attempts were refused, so nothing reached the server's memory
    expect(readOutbox(home)).toMatchObject([{ state: { dead: 1 } }, { state: { dead: 0 } }]);
  });

  it("lists what waits, the first of each lane, and drops it by id", async () => {
    const home = await filledHome();
    const waits = listWaiting(home);
    expect(waits.map(({ state, preview }) => [state, preview])).toEqual(
      expect.arrayContaining([["held", "waits"]]),
    );
    expect(listWaiting(home, { most: 1 })).toEqual([waits[0]]);
    expect(listWaiting(home, { provider: "nobody" })).toEqual([]);
    expect(dropWrites(home, [waits[0]?.id ?? 0])).toBe(1);
    expect(listWaiting(home)).toEqual(waits.slice(1));
  });

  it("erases a text in the chosen lanes, and leaves the names of mirrored entries", async () => {
    const home = await filledHome();
    const lane = testLane(home, { user: "u" });
    lane.mirrors.add({ target: "user", text: "waits for rain", remoteId: "r1" });
    lane.close();
    const isOther = (each: { readonly provider: string }) => each.provider === "honcho";
    expect(eraseInOutbox(home, "waits", isOther)).toBe(0);
    expect(eraseInOutbox(home, "waits", () => true)).toBe(1);
    expect(findInOutbox(home, "waits")).toMatchObject([{ items: 0, mirrors: 1 }]);
    expect(eraseInOutbox(tempDirectory(), "waits", () => true)).toBe(0);
  });

  it("knows which entries of the owner were sent, wait or were refused", async () => {
    const home = tempDirectory();
    const lane = testLane(home, { user: "" });
    lane.mirrors.add({ target: "memory", text: "one", remoteId: "r1" });
    await lane.add({ kind: "mirror-add", sessionId: "", body: { target: "user", text: "two" } });
    await lane.add({ kind: "turn", sessionId: "", body: { target: "user", text: "three" } });
    expect(knownEntries(home, "mem0")).toEqual([
      { target: "memory", text: "one", state: "sent" },
      { target: "user", text: "two", state: "waiting" },
    ]);
    lane.start(
      async () => REFUSED,
      () => 1,
    );
    expect(await lane.flush(5_000)).toBe(0);
    expect(knownEntries(home, "mem0")[1]?.state).toBe("refused");
    expect(knownEntries(home, "other")).toEqual([]);
  });
});

describe("two lanes of one provider and user in a process", () => {
  it("send nothing twice, and each sends what the other left", async () => {
    const home = tempDirectory();
    const [first, second] = [testLane(home), testLane(home)];
    const sent: string[] = [];
    let running = 0;
    const deliver = async (batch: Parameters<typeof textsOf>[0]) => {
      running += 1;
      expect(running).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 1));
      sent.push(...textsOf(batch));
      running -= 1;
      return DELIVERED;
    };
    first.start(deliver, () => 2);
    second.start(deliver, () => 2);
    const texts = Array.from({ length: 30 }, (_, at) => `t${at}`);
    for (const [at, text] of texts.entries()) {
      (at % 2 ? first : second).add(turn(text));
      if (at % 5 === 0) await new Promise(setImmediate);
    }
    expect(await Promise.all([first.flush(10_000), second.flush(10_000)])).toEqual([0, 0]);
    expect(sent).toEqual(texts);
    await first.add(turn("last"));
    first.close();
    expect(await second.flush(10_000)).toBe(0);
    expect(sent.at(-1)).toBe("last");
  });
});
