import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { entryId } from "@hermes-memory/core/internal/curated";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere, runHermes, runJson } from "./run.ts";

type Archived = { id: string; text: string; target: string; origin: string; time: string };

/** The limit has room for two of these entries; the third moves the first to the archive. */
async function crowdedHome(): Promise<string> {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), "memory:\n  memory_char_limit: 40\n  overflow: archive\n");
  return home;
}

async function add(home: string, text: string): Promise<void> {
  expect((await runHere(["memory", "add", text], { home })).code).toBe(0);
}

async function archived(home: string, ...args: string[]): Promise<Archived[]> {
  return JSON.parse((await runHere(["memory", "archive", "list", "--json", ...args], { home })).stdout);
}

describe("hermes memory archive", () => {
  it("lists, finds and restores archived entries", async () => {
    const home = await crowdedHome();
    await add(home, "the Harbour crane");
    await add(home, "second entry here");
    const third = await runHermes(["memory", "add", "third entry here!"], { home });
    expect(third.stdout).toContain("archive");

    const [entry] = (await runJson(["memory", "archive", "list"], { home })) as Archived[];
    expect(entry).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}$/),
      entry_id: entryId("memory", "the Harbour crane"),
      time: expect.any(String),
      target: "memory",
      origin: "cli",
      text: "the Harbour crane",
    });
    const listed = await runHermes(["memory", "archive", "list"], { home });
    expect(listed.stdout).toMatch(new RegExp(`^${entry?.id} .* the Harbour crane$`, "m"));
    expect((await runHere(["memory", "history", "--limit", "1"], { home })).stdout).toContain(
      "  - the Harbour crane  (to the archive)",
    );
    const explained = (await runHere(["memory", "explain", "harbour"], { home })).stdout;
    expect(explained).toContain(`In the archive of MEMORY.md as ${entry?.id} since `);
    expect(explained).toContain("Archived from MEMORY.md at ");

    const found = await runHermes(["memory", "archive", "search", "CRANE  harbour"], { home });
    expect(found.stdout).toContain("the Harbour crane");
    const none = await runHere(["memory", "archive", "search", "crane boat"], { home });
    expect(none).toMatchObject({ code: 0, stdout: "Nothing.\n" });
    const whole = await runHere(["memory", "archive", "search", "crane", "--full"], { home });
    expect(whole.stdout).toContain("\n    the Harbour crane\n");

    const full = await runHere(["memory", "archive", "restore", entry?.id ?? ""], { home });
    expect(full.code).toBe(1);
    expect(full.stderr).toContain("exceed the limit");
    await runHere(["memory", "remove", "second"], { home });
    const restored = await runHermes(["memory", "archive", "restore", entry?.id ?? ""], { home });
    expect(restored.stdout).toContain("Entry restored from the archive.");
    expect(await archived(home)).toEqual([]);
    expect((await runHere(["memory", "archive", "list"], { home })).stdout).toBe("Nothing.\n");
  });

  it("an unknown id is refused, and a bare 'archive' answers with its help", async () => {
    const home = tempDirectory();
    const unknown = await runHermes(["memory", "archive", "restore", "nope"], { home });
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(unknown.stderr).toContain("No archived entry has the id 'nope'");
    const bare = await runHermes(["memory", "archive"], { home });
    expect(bare.code).toBe(0);
    expect(bare.stdout).toContain("restore");
    expect(await archived(home, "--target", "user")).toEqual([]);
  });
});

describe("hermes memory pin and unpin", () => {
  it("a pinned entry is never moved", async () => {
    const home = await crowdedHome();
    await add(home, "pinned entry here");
    const pinned = await runHermes(["memory", "pin", "pinned"], { home });
    expect(pinned).toMatchObject({ code: 0, stdout: expect.stringContaining("Pinned in MEMORY.md.\n") });
    await add(home, "second entry here");
    await add(home, "third entry here!");
    expect((await archived(home)).map(({ text }) => text)).toEqual(["second entry here"]);
    expect(await runJson(["memory", "unpin", "pinned"], { home })).toEqual({
      success: true,
      message: "Unpinned in MEMORY.md.",
      target: "memory",
      id: entryId("memory", "pinned entry here"),
      entry: "pinned entry here",
      pinned: false,
    });
    await add(home, "fourth entry now!");
    expect((await archived(home)).map(({ text }) => text)).toContain("pinned entry here");
  });

  it("finds the target itself, and asks for --target when both files hold the text", async () => {
    const home = tempDirectory();
    await add(home, "blue crane");
    await runHere(["memory", "add", "-t", "user", "likes blue"], { home });
    expect((await runHere(["memory", "pin", "likes"], { home })).stdout).toContain("Pinned in USER.md.\n");
    const both = await runHermes(["memory", "pin", "blue"], { home });
    expect(both).toMatchObject({ code: 1, stdout: "" });
    expect(both.stderr).toBe(
      "error: Entries of both MEMORY.md and USER.md hold this text. Pass --target.\n" +
        "  memory  blue crane\n  user    likes blue\n",
    );
    expect((await runHere(["memory", "pin", "blue", "-t", "memory"], { home })).code).toBe(0);
    const none = await runHere(["memory", "pin", "green"], { home });
    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: No entry matched 'green'\.\n'hermes memory show'/),
    });
    const shown = (await runHere(["memory", "show"], { home })).stdout;
    expect(shown.match(/\[pinned\]/g)).toHaveLength(2);
  });

  it("more words distinguish several entries of one file", async () => {
    const home = tempDirectory();
    await add(home, "blue crane");
    await add(home, "blue boat");
    const { code, stderr } = await runHere(["memory", "pin", "blue"], { home });
    expect(code).toBe(1);
    expect(stderr).toContain("Be more specific.\n  blue crane\n  blue boat\n");
  });
});
