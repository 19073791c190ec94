// How an entry is named: a bare number is refused as text, --entry takes the number of `show`, --id the id.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { entryId } from "@hermes-memory/core/internal/curated";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { jsonHere, runHere } from "./run.ts";

const ENTRIES = ["Uses zsh", "Deploys with make ship", "Debian 12 on port 2222"];

/** An entry whose id consists of digits. */
const numbered = Array.from({ length: 2000 }, (_, n) => `Note ${n}`).find((text) =>
  /^\d{8}$/.test(entryId("memory", text)),
) as string;

function homeWith(memory: readonly string[], user: readonly string[] = []): string {
  const home = tempDirectory();
  const dir = join(home, "memories");
  writeEntries(dir, "MEMORY.md", memory);
  writeEntries(dir, "USER.md", user);
  return home;
}

function writeEntries(dir: string, name: string, entries: readonly string[]): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, name), entries.join("\n§\n"));
}

const memoryOf = (home: string): string[] =>
  readFileSync(join(home, "memories", "MEMORY.md"), "utf8").split("\n§\n");

describe("a bare number", () => {
  it("is refused by everything that changes an entry, with what to type instead", async () => {
    const home = homeWith(ENTRIES);
    for (const args of [
      ["remove", "2"],
      ["remove", "#2"],
      ["remove", "2."],
      ["replace", "2", "new"],
      ["pin", "2"],
      ["unpin", "2"],
      ["forget", "2", "--yes"],
    ]) {
      const { code, stderr } = await runHere(["memory", ...args], { home });
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toContain(`hermes memory ${args[0]} --entry 2`);
    }
    expect(memoryOf(home)).toEqual(ENTRIES);
    expect(JSON.parse((await runHere(["memory", "remove", "2", "--json"], { home })).stdout)).toMatchObject({
      success: false,
      kind: "usage",
    });
  });

  it("is the id of an entry where nothing holds it as text, for forget too", async () => {
    const home = homeWith(["Uses zsh", numbered]);
    const id = entryId("memory", numbered);
    expect(id).toMatch(/^\d{8}$/);
    expect((await runHere(["memory", "forget", id, "--yes"], { home })).code).toBe(0);
    expect(memoryOf(home)).toEqual(["Uses zsh"]);
    const again = homeWith([numbered]);
    expect((await runHere(["memory", "remove", id], { home: again })).code).toBe(0);
  });
});

describe("--entry", () => {
  it("that is not there, or beside another name of the entry, changes nothing", async () => {
    const home = homeWith(ENTRIES);
    const missing = await runHere(["memory", "remove", "--entry", "4"], { home });
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("It has 3 entries") });
    for (const args of [
      ["remove", "zsh", "--entry", "1"],
      ["remove", "--id", "0badbeef", "--entry", "1"],
      ["remove", "--entry", "0"],
      ["remove"],
      ["replace", "--entry", "1"],
      ["replace", "--entry", "1", "old", "new"],
      ["pin"],
      ["explain"],
      ["forget", "--yes"],
    ])
      expect({ args, code: (await runHere(["memory", ...args], { home })).code }).toEqual({ args, code: 2 });
    expect(memoryOf(home)).toEqual(ENTRIES);
  });
});

describe("--id", () => {
  it("finds the entry in either file, and follows an id whose text was replaced", async () => {
    const home = homeWith(ENTRIES, ["Metric units"]);
    const shown = (await jsonHere(["memory", "show"], { home })) as {
      user: { entries: { id: string }[] };
      memory: { entries: { id: string }[] };
    };
    const [metric = ""] = shown.user.entries.map(({ id }) => id);
    expect((await runHere(["memory", "show", "--ids"], { home })).stdout).toContain(
      `Metric units  [id ${metric}]`,
    );
    await runHere(["memory", "replace", "--id", metric, "Imperial units"], { home });
    const removed = await runHere(["memory", "remove", metric], { home });
    expect(removed.stdout).toMatch(/followed [0-9a-f]{8}\.\n {2}- Imperial units\n/);
    expect(
      await jsonHere(["memory", "explain", "--id", shown.memory.entries[0]?.id ?? ""], { home }),
    ).toMatchObject({
      text: "Uses zsh",
      stored: [{ position: 1 }],
    });
  });
});
