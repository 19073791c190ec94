import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere, runHermes } from "./run.ts";

describe("hermes memory show, add, replace, remove", () => {
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
    const shown = await runHere(["memory", "show"], { home });
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
    const shown = await runHere(["memory", "show"], { home });
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
});
