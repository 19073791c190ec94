// A damaged file of the outbox: what can still be read goes into the new one.
import { copyFileSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recordingLogger } from "../../../core/test/fakes/providers.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { readOutbox, unreadableOutboxes } from "../../src/kit/outbox/commands.ts";
import { DELIVERED, inFile, LATER, server, testLane, turn } from "../fakes/outbox.ts";

const PAGE = 4096;
const COUNT = 60;
const TEXTS = Array.from({ length: COUNT }, (_, index) => `${index} ${"x".repeat(700)}`);
const file = (home: string) => join(home, "memory_outbox.db");

/** A closed file with 60 writes of the owner over a dozen pages, one long one, one of a user, a mirrored entry, a delivered key. */
async function filled(): Promise<string> {
  const home = tempDirectory();
  const lane = testLane(home);
  lane.add(turn("delivered", { dedupeKey: "known" }));
  lane.start(server(DELIVERED, LATER).deliver, () => 1);
  await lane.flush(5_000);
  for (const text of TEXTS) lane.add(turn(text));
  lane.add(turn("long ".repeat(5_000)));
  lane.mirrors.add({ target: "user", text: "likes tea", remoteId: "m1" });
  const guest = testLane(home, { user: "telegram:7" });
  guest.add(turn("of a guest"));
  await lane.flush(5_000);
  guest.close();
  lane.close();
  await new Promise((resolve) => setTimeout(resolve, 20));
  return home;
}

/** Opens the file and returns what waits in it afterwards, by the number in each text. */
function reopened(home: string) {
  const log = recordingLogger();
  const lane = testLane(home, { log });
  expect(lane.add(turn("new")).kind).toBe("queued");
  const texts = lane.items().map(({ body }) => (body as { text: string }).text);
  const warning = log.at("warn").join("\n");
  return {
    lane,
    texts,
    warning,
    numbers: texts.map((text) => Number.parseInt(text, 10)).filter((n) => n >= 0),
  };
}

function overwrite(home: string, page: number): void {
  const bytes = readFileSync(file(home));
  bytes.fill(0x5a, (page - 1) * PAGE, page * PAGE);
  writeFileSync(file(home), bytes);
}

function rootOf(home: string, name: string): number {
  return Number(inFile(home, `SELECT rootpage FROM sqlite_master WHERE name = '${name}'`)[0]?.rootpage);
}

describe("a damaged outbox", () => {
  it("with any one bad page loses only what is on it, keeps the order, and says how much was saved", async () => {
    const made = await filled();
    const pages = Math.floor(statSync(file(made)).size / PAGE);
    for (let page = 1; page <= pages; page += 1) {
      const home = tempDirectory();
      copyFileSync(file(made), file(home));
      overwrite(home, page);
      const { texts, numbers, warning } = reopened(home);
      expect(numbers.length, `page ${page}`).toBeGreaterThan(COUNT - 8);
      expect(numbers, `page ${page}`).toEqual([...numbers].sort((one, other) => one - other));
      expect(texts.at(-1)).toBe("new");
      if (warning !== "") expect(warning).toMatch(/\d+ of its writes could be read .* others may be lost/);
    }
  });

  it("that lost its tree of writes keeps users, attempts, mirrored entries and keys", async () => {
    const home = await filled();
    overwrite(home, rootOf(home, "items"));
    const { lane, texts, numbers, warning } = reopened(home);
    expect(numbers).toHaveLength(COUNT);
    expect(texts.some((text) => text.startsWith("long long"))).toBe(true);
    expect(warning).toContain(`${COUNT + 2} of its writes could be read`);
    expect(readOutbox(home).map(({ user, state }) => [user, state.waiting])).toEqual([
      ["", COUNT + 2],
      ["telegram:7", 1],
    ]);
    expect(lane.mirrors.containing("tea")).toEqual([{ target: "user", text: "likes tea", remoteId: "m1" }]);
    expect(lane.add(turn("again", { dedupeKey: "known" })).kind).toBe("known");
    const { deliver, batches } = server();
    lane.start(deliver, () => 1);
    await lane.flush(5_000);
    expect(batches.slice(0, 2).map(({ attempt }) => attempt)).toEqual([2, 1]);
    const aside = readdirSync(home).filter((name) => name.includes(".damaged-"));
    expect(unreadableOutboxes(home).map(({ path }) => path)).toEqual(aside.map((name) => join(home, name)));
  });

  it("that was cut in half keeps what was in the first half, in order", async () => {
    const home = await filled();
    truncateSync(file(home), statSync(file(home)).size >> 1);
    const { numbers } = reopened(home);
    expect(numbers.length).toBeGreaterThan(10);
    expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
  });

  it("that is no database at all costs only what was in it", async () => {
    const home = await filled();
    writeFileSync(file(home), "this is not a database ".repeat(500));
    const { texts, warning } = reopened(home);
    expect(texts).toEqual(["new"]);
    expect(warning).toContain("0 of its writes could be read");
  });

  it("has writes that are only in the log of the file", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    for (const text of TEXTS) lane.add(turn(text));
    const copy = tempDirectory();
    for (const suffix of ["", "-wal"]) copyFileSync(`${file(home)}${suffix}`, `${file(copy)}${suffix}`);
    const main = readFileSync(file(copy));
    expect(main.includes(TEXTS.at(-1) ?? "")).toBe(false);
    main.fill(0x5a, 20, 60); // the header of the file, which the log does not mend
    writeFileSync(file(copy), main);
    const { numbers } = reopened(copy);
    expect(numbers).toHaveLength(COUNT);
  });
});
