import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere } from "./run.ts";
import { databaseOf, homeWithSessions, withStore } from "./sessions-home.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

type Exported = { id: string; title: string | null; messages: { content: string; active: number }[] };

function parse(text: string): Exported[] {
  expect(text === "" || text.endsWith("\n")).toBe(true);
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Exported);
}

describe("hermes sessions export", () => {
  it("does not replace a file unless forced, and never anything that is no file", async () => {
    const home = await homeWithSessions();
    const folder = tempDirectory();
    const out = join(folder, "kept.jsonl");
    writeFileSync(out, "kept", { mode: 0o644 });
    const refused = await runHere(["sessions", "export", out], { home });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("pass --force") });
    expect(readFileSync(out, "utf8")).toBe("kept");
    symlinkSync(out, join(folder, "link.jsonl"));
    expect(
      (await runHere(["sessions", "export", join(folder, "link.jsonl"), "--force"], { home })).code,
    ).toBe(0);
    expect(parse(readFileSync(out, "utf8"))).toHaveLength(5);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    mkdirSync(join(folder, "directory"));
    const directory = await runHere(["sessions", "export", join(folder, "directory"), "--force"], { home });
    expect(directory).toMatchObject({ code: 1, stderr: expect.stringContaining("is not a regular file") });
    expect(readdirSync(folder).sort()).toEqual(["directory", "kept.jsonl", "link.jsonl"]);
  });

  it("never writes over the database, whatever it is called and however it is forced", async () => {
    const home = await homeWithSessions();
    const database = databaseOf(home);
    const folder = tempDirectory();
    symlinkSync(database, join(folder, "link.jsonl"));
    linkSync(database, join(folder, "same.jsonl"));
    symlinkSync(home, join(folder, "home"));
    const names = [database, `${database}-wal`, `${database}-shm`, `${database}-journal`]
      .concat(
        ["link.jsonl", "same.jsonl", "home/state.db", "home/state.db-wal"].map((name) => join(folder, name)),
      )
      .concat(join(home, "..", basename(home), "state.db"));
    await using open = await openSessionStore({ path: database }); // so that its log is there too
    const { ino } = statSync(database);
    for (const name of names) {
      for (const flags of [[], ["--force"]]) {
        const { code, stderr } = await runHere(["sessions", "export", name, ...flags], { home });
        expect({ code, stderr }, name).toEqual({
          code: 1,
          stderr: expect.stringContaining("belongs to the session database"),
        });
      }
    }
    expect(statSync(database).ino).toBe(ino);
    expect(await open.sessionCount({ includeArchived: true })).toBe(5);
    expect(readdirSync(folder).sort()).toEqual(["home", "link.jsonl", "same.jsonl"]);
  });
});

describe("hermes sessions import", () => {
  async function exported(): Promise<string> {
    const { stdout } = await runHere(["sessions", "export", "-", "--all"], {
      home: await homeWithSessions(),
    });
    return stdout;
  }

  it("stops at a line that is nested too deep", async () => {
    const home = tempDirectory();
    const file = join(home, "deep.jsonl");
    writeFileSync(file, `{"a":${"[".repeat(3_000)}${"]".repeat(3_000)}}\n`);
    const { code, stderr } = await runHere(["sessions", "import", file], { home });
    expect(code).toBe(1);
    expect(stderr).toContain(`${file}, line 1: it is nested deeper than 100 levels`);
  });

  it("stops at the first Ctrl-C while it waits for input, and reports what it imported", async () => {
    const [first = ""] = (await exported()).split("\n");
    const home = tempDirectory();
    const child = spawn(process.execPath, [MAIN, "sessions", "import", "-"], {
      env: { PATH: process.env.PATH, HERMES_HOME: home },
      stdio: "pipe",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
      });
    const ended = once(child, "close");
    child.stdin.write(`${first}\n`); // without an end: more input may follow
    await expect
      .poll(
        async () => existsSync(databaseOf(home)) && (await withStore(home, (store) => store.sessionCount())),
        { timeout: 20_000 },
      )
      .toBe(1);
    child.kill("SIGINT");
    expect(await ended).toEqual([130, null]);
    expect(output).toEqual({
      stdout: expect.stringMatching(/^Imported 1 session with \d+ messages?\.\n$/),
      stderr: expect.stringContaining("goes on where this stopped"),
    });
  }, 30_000);
});
