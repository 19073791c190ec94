import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "@hermes-memory/core/internal/version";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { CommandFailure } from "../../src/cli/command.ts";
import { logFailure } from "../../src/cli/failure.ts";
import { GROUPS } from "../../src/cli/program.ts";
import { runHere, runHermes } from "./run.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

describe("the command line", () => {
  it.each([
    [["memry"], "Did you mean memory?"],
    [["doctr"], "Did you mean doctor?"],
    [["config", "gte"], "Did you mean get?"],
    [["memory", "show", "--targt", "user"], "Did you mean --target?"],
    [["memory", "show", "--target", "users"], "memory, user"],
    [["status", "now"], "too many arguments"],
  ])("answers %j with exit code 2 and a hint", async (args, hint) => {
    const { stdout, stderr, code } = await runHere(args, { home: tempDirectory() });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(hint);
  });

  it.each([...GROUPS])("shows examples for $name", async ({ load }) => {
    const specs = await load();
    expect(specs.filter(({ examples }) => !examples?.length).map(({ name }) => name)).toEqual([]);
  });

  it("works in the profile that is named, wherever the flag stands", async () => {
    const home = tempDirectory();
    await runHere(["profile", "create", "work"], { home });
    for (const words of [
      ["-p", "work", "status", "--json"],
      ["status", "--json", "--profile=work"],
    ])
      expect(JSON.parse((await runHere(words, { home })).stdout)).toMatchObject({
        home: join(home, "profiles", "work"),
        profile: "work",
      });
    const missing = await runHere(["--profile", "nobody", "status"], { home });
    expect({ code: missing.code, stdout: missing.stdout }).toEqual({ code: 1, stdout: "" });
    expect(missing.stderr).toContain("hermes profile create nobody");
  });

  it("takes --json anywhere, but after '--' it is text", async () => {
    const home = tempDirectory();
    const before = await runHere(["--json", "memory", "add", "one"], { home });
    expect(JSON.parse(before.stdout)).toMatchObject({ success: true, entries: ["one"] });
    const literal = await runHere(["memory", "add", "--", "--json"], { home });
    expect(literal.stdout).toMatch(/^Entry added\./);
    expect(readFileSync(join(home, "memories", "MEMORY.md"), "utf8")).toBe("one\n§\n--json");
  });

  it("answers --version and help of a command in every spelling", async () => {
    const home = tempDirectory();
    expect(JSON.parse((await runHere(["--version", "--json"], { home })).stdout)).toEqual({
      version: VERSION,
    });
    expect((await runHere(["help", "memory", "add"], { home })).stdout).toContain("Usage: hermes memory add");
    const unknown = await runHere(["memory", "add", "-x"], { home });
    expect(unknown.stderr).toContain("goes after '--'");
  });

  it("refuses piped input that is no text", async () => {
    const home = tempDirectory();
    const { code, stderr } = await runHermes(["memory", "add", "-"], {
      home,
      input: Buffer.from([0x63, 0xe9]),
    });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("not valid UTF-8") });
  });

  it("gives failures the same shape in JSON", async () => {
    const home = tempDirectory();
    const usage = await runHere(["memory", "show", "--nope", "--json"], { home });
    expect(usage.code).toBe(2);
    expect(JSON.parse(usage.stdout)).toMatchObject({
      success: false,
      error: expect.any(String),
      kind: "usage",
    });
    const failed = await runHere(["profile", "use", "nobody", "--json"], { home });
    expect(failed.code).toBe(1);
    expect(failed.stderr).toBe("");
    expect(JSON.parse(failed.stdout)).toMatchObject({
      success: false,
      error: expect.stringContaining("nobody"),
      kind: "missing-profile",
    });
  });

  it("ends without an error when its reader closes the pipe", () => {
    const command = `"${process.execPath}" "${MAIN}" config get | true; echo "\${PIPESTATUS[0]}"`;
    const env = { ...process.env, HERMES_HOME: tempDirectory() };
    const { stdout, stderr } = spawnSync("bash", ["-c", command], { env, encoding: "utf8" });
    expect({ stdout, stderr }).toEqual({ stdout: "0\n", stderr: "" });
  });
});

describe("an unexpected failure", () => {
  it("is kept in a private log in the home, without secrets, and never on stdout", async () => {
    const home = tempDirectory();
    const token = `ghp_${"a1B2".repeat(9)}`;
    await logFailure(new Error(`the disk said ${token}`), home);
    const text = readFileSync(join(home, "logs", "hermes-memory.log"), "utf8");
    expect(JSON.parse(text)).toMatchObject({
      level: "error",
      message: expect.stringContaining("the disk said"),
    });
    expect(text).not.toContain(token);
    expect(statSync(join(home, "logs", "hermes-memory.log")).mode & 0o777).toBe(0o600);
  });

  it("makes no home, and a wrong flag or a refusal is not logged", async () => {
    const home = join(tempDirectory(), "none");
    await logFailure(new Error("x"), home);
    expect(existsSync(home)).toBe(false);
    mkdirSync(home);
    await logFailure(new CommandFailure("refused"), home);
    expect(readdirSync(home)).toEqual([]);
  });
});
