import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { entryId } from "@hermes-memory/core/internal/curated";
import { describe, expect, it } from "vitest";
import { startScript } from "../../../core/test/fakes/child.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere, runHermes, runJson } from "./run.ts";

describe("hermes memory show, add, replace, remove", () => {
  it("a text that was added is shown, replaced and removed", async () => {
    const home = tempDirectory();
    const added = await runHermes(["memory", "add", "Deploys go through make ship"], { home });
    expect(added).toMatchObject({ code: 0, stderr: "" });
    expect(added.stdout).toMatch(/^Entry added\. {2}memory 1% — 28\/2,200 chars, change [0-9a-f]{8}\n$/);

    const replaced = await runJson(["memory", "replace", "make ship", "Deploys go through make release"], {
      home,
    });
    expect(replaced).toEqual({
      success: true,
      target: "memory",
      entries: ["Deploys go through make release"],
      usage: "1% — 31/2,200 chars",
      entry_count: 1,
      message: "Entry replaced.",
      removed: ["Deploys go through make ship"],
      entry_ids: [entryId("memory", "Deploys go through make release")],
      change_id: expect.stringMatching(/^[0-9a-f]{8}$/),
    });

    const shown = await runHermes(["memory", "show"], { home });
    expect(shown.stdout).toContain("  1. Deploys go through make release\n");
    expect(shown.stdout).toContain("USER.md  the user's profile  0% — 0/1,375 chars\n  (empty)\n");

    const removed = await runHermes(["memory", "remove", "release"], { home });
    expect(removed).toMatchObject({ code: 0 });
    expect(removed.stdout).toMatch(/^Entry removed\..*\n {2}- Deploys go through make release\n$/);
    expect(readFileSync(join(home, "memories", "MEMORY.md"), "utf8")).toBe("");
  });

  it("shows both targets as JSON, with pins and usage", async () => {
    const home = tempDirectory();
    await runHere(["memory", "add", "-t", "user", "Prefers metric units"], { home });
    await runHere(["memory", "pin", "metric"], { home });
    expect(await runJson(["memory", "show"], { home })).toEqual({
      memory: { entries: [], usage: "0% — 0/2,200 chars", used_chars: 0, char_limit: 2200, enabled: true },
      user: {
        entries: [
          { id: entryId("user", "Prefers metric units"), text: "Prefers metric units", pinned: true },
        ],
        usage: "1% — 20/1,375 chars",
        used_chars: 20,
        char_limit: 1375,
        enabled: true,
      },
    });
  });

  it("prints the prompt blocks, and nothing at all when there are none", async () => {
    const home = tempDirectory();
    expect(await runHere(["memory", "show", "--prompt"], { home })).toMatchObject({ code: 0, stdout: "" });
    await runHere(["memory", "add", "a\ttab"], { home });
    const { stdout } = await runHere(["memory", "show", "--prompt"], { home });
    const block = JSON.parse((await runHere(["memory", "show", "--prompt", "--json"], { home })).stdout);
    expect(stdout).toBe(`${block.memory}\n`);
    expect(block.user).toBeNull();
  });

  it("reads '-' from standard input, also a megabyte of it", async () => {
    const home = tempDirectory();
    const small = await runHermes(["memory", "add", "-"], { home, input: "first line\r\nsecond line\n" });
    expect(small.code).toBe(0);
    expect(readFileSync(join(home, "memories", "MEMORY.md"), "utf8")).toBe("first line\nsecond line");
    const replaced = await runHere(["memory", "replace", "first", "-"], { home, input: "from the pipe\n" });
    expect(replaced.code).toBe(0);

    const huge = await runHermes(["memory", "add", "-", "--json"], { home, input: "word ".repeat(200_000) });
    expect(huge.code).toBe(1);
    expect(JSON.parse(huge.stdout)).toMatchObject({
      success: false,
      kind: "over_limit",
      current_entries: ["from the pipe"],
      usage: "13/2,200",
    });
  });

  it("takes a text that starts with a dash after '--'", async () => {
    const home = tempDirectory();
    const bare = await runHermes(["memory", "add", "-bullet"], { home });
    expect(bare).toMatchObject({ code: 2, stdout: "" });
    expect(bare.stderr).toContain("unknown option");
    expect((await runHere(["memory", "add", "--", "-bullet"], { home })).code).toBe(0);
    expect((await runHere(["memory", "remove", "--", "-bul"], { home })).code).toBe(0);
  });

  it("an empty text is wrong usage, in every command that takes one", async () => {
    const home = tempDirectory();
    for (const args of [
      ["add", "  "],
      ["replace", "", "x"],
      ["replace", "x", ""],
      ["remove", ""],
      ["explain", " "],
      ["forget", "", "--yes"],
      ["pin", ""],
      ["archive", "search", " "],
    ]) {
      const { code, stdout, stderr } = await runHere(["memory", ...args], { home });
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
      expect(stderr).toContain("cannot be empty");
    }
  });

  it("wrong usage ends with 2 and says what was meant", async () => {
    const home = tempDirectory();
    const unknownFlag = await runHermes(["memory", "show", "--targte", "user"], { home });
    expect(unknownFlag).toMatchObject({ code: 2, stdout: "" });
    expect(unknownFlag.stderr).toContain("--target");
    for (const args of [
      ["add"],
      ["add", "two", "texts"],
      ["replace", "old"],
      ["show", "--target", "everything"],
      ["history", "--limit", "0"],
      ["history", "--limit", "many"],
      ["shwo"],
      ["archive", "lst"],
      ["reset", "--target", "both"],
    ]) {
      expect({ args, code: (await runHere(["memory", ...args], { home })).code }).toEqual({ args, code: 2 });
    }
  });

  it("lists the candidates when a text fits several entries, and the entries when there is no room", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), "memory:\n  memory_char_limit: 30\n");
    await runHere(["memory", "add", "blue crane"], { home });
    await runHere(["memory", "add", "blue\nboat"], { home });
    const ambiguous = await runHermes(["memory", "remove", "blue"], { home });
    expect(ambiguous).toMatchObject({ code: 1, stdout: "" });
    expect(ambiguous.stderr).toBe(
      "error: Multiple entries matched 'blue'. Be more specific.\n  blue crane\n  blue⏎boat\n",
    );
    const full = await runHere(["memory", "add", "something else"], { home });
    expect(full.code).toBe(1);
    expect(full.stderr).toContain("exceed the limit");
    expect(full.stderr).toContain("  blue crane\n  blue⏎boat\n");
    const json = await runHere(["memory", "remove", "blue", "--json"], { home });
    expect(JSON.parse(json.stdout)).toMatchObject({
      kind: "ambiguous",
      matches: ["blue crane", "blue\nboat"],
    });
    const missing = await runHere(["memory", "remove", "green"], { home });
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: No entry matched 'green'\.\n'hermes memory show'/),
    });
  });

  it("never sends a stored control character to the terminal", async () => {
    const home = tempDirectory();
    const nasty = "title \u001b]0;gone\u0007 and \u009b31m red\rover";
    mkdirSync(join(home, "memories"));
    writeFileSync(join(home, "memories", "MEMORY.md"), `${nasty}\n§\n${nasty} again`);
    await runHere(["memory", "remove", "again"], { home });
    for (const args of [
      ["show"],
      ["show", "--prompt"],
      ["history"],
      ["history", "--full"],
      ["explain", "title"],
      ["pin", "title"],
      ["remove", "no such \u001b[2J"],
      ["forget", "title"],
      ["undo"],
    ]) {
      const { stdout, stderr } = await runHere(["memory", ...args], { home });
      expect({ args, raw: /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(stdout + stderr) }).toEqual({
        args,
        raw: false,
      });
    }
    const shown = await runHermes(["memory", "show"], { home });
    expect(shown.stdout).toContain("title \\x1b]0;gone\\x07 and \\x9b31m red");
    expect(
      JSON.parse((await runHere(["memory", "show", "--json"], { home })).stdout).memory.entries[0].text,
    ).toContain("\u001b]0;gone\u0007");
  });

  it("an unreadable file costs a note for readers and fails a writer", async () => {
    const home = tempDirectory();
    mkdirSync(join(home, "memories"));
    writeFileSync(join(home, "memories", "MEMORY.md"), Buffer.from([0x61, 0xff, 0x62]));
    await runHere(["memory", "add", "-t", "user", "still fine"], { home });
    const shown = await runHermes(["memory", "show"], { home });
    expect(shown.code).toBe(0);
    expect(shown.stderr).toContain("MEMORY.md could not be read (it is not valid UTF-8)");
    expect(shown.stdout).toContain("still fine");
    for (const args of [["history"], ["explain", "fine"], ["status"], ["archive", "list"]]) {
      expect({ args, code: (await runHere(["memory", ...args], { home })).code }).toEqual({ args, code: 0 });
    }
    const added = await runHere(["memory", "add", "more"], { home });
    expect(added.code).toBe(1);
    expect(added.stderr).toContain("Refusing to write MEMORY.md");
  });

  it("a file that another process keeps locked fails the write with 1", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), "memory:\n  lock_timeout_seconds: 0.2\n");
    mkdirSync(join(home, "memories"));
    const holder = startScript("lock-holder.ts", [join(home, "memories", "MEMORY.md.lock")]);
    expect(await holder.nextLine()).toBe("held");
    const added = await runHermes(["memory", "add", "x", "--json"], { home });
    expect(added.code).toBe(1);
    expect(JSON.parse(added.stdout)).toMatchObject({ success: false, kind: "locked" });
    expect((await runHere(["memory", "forget", "x", "--yes"], { home })).code).toBe(0); // no trace, so no write
    expect((await runHere(["memory", "show"], { home })).code).toBe(0);
    holder.closeInput();
    await holder.rest();
  });

  it("a config that does not parse ends with 1 and names the key", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), "memory:\n  memory_char_limit: many\n");
    const shown = await runHermes(["memory", "show"], { home });
    expect(shown).toMatchObject({ code: 1, stdout: "" });
    expect(shown.stderr).toContain("memory.memory_char_limit");
    expect((await runHere(["memory", "path"], { home })).code).toBe(0);
  });

  it("a target that is switched off is shown as such and takes no writes", async () => {
    const home = tempDirectory();
    await runHere(["memory", "add", "-t", "user", "Prefers metric units"], { home });
    writeFileSync(join(home, "config.yaml"), "memory:\n  user_profile_enabled: false\n");
    const added = await runHere(["memory", "add", "-t", "user", "x"], { home });
    expect(added).toMatchObject({ code: 1, stdout: "" });
    expect(added.stderr).toContain("memory.user_profile_enabled");
    expect((await runHere(["memory", "show"], { home })).stdout).toContain("(switched off)");
    expect((await runHere(["memory", "explain", "metric"], { home })).stdout).toContain(
      "USER.md is switched off, so no prompt shows it.",
    );
  });

  it("works on another directory with --dir", async () => {
    const home = tempDirectory();
    const dir = join(home, "elsewhere");
    await runHere(["memory", "add", "apart", "--dir", dir], { home });
    expect(readFileSync(join(dir, "MEMORY.md"), "utf8")).toBe("apart");
    expect((await runHere(["memory", "show"], { home })).stdout).not.toContain("apart");
  });

  it("a damaged pin file costs a note", async () => {
    const home = tempDirectory();
    await runHere(["memory", "add", "alpha"], { home });
    writeFileSync(join(home, "memories", ".pins.json"), "{");
    for (const command of ["show", "status"]) {
      const { code, stderr } = await runHere(["memory", command], { home });
      expect({ command, code }).toEqual({ command, code: 0 });
      expect(stderr).toContain("Pins are not shown.");
    }
  });
});
