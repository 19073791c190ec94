import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import {
  BinaryFinder,
  type BrvCommand,
  childEnvironment,
  curateCommand,
  LIMITS,
  loginCommand,
  queryCommand,
  queueCurateCommand,
  readReply,
  searchCommand,
  statusCommand,
} from "../../src/byterover/brv-client.ts";

const query = queryCommand("what is the port", 10_000, LIMITS);
const status = statusCommand(LIMITS);

const line = (data: object, success = true) =>
  JSON.stringify({ command: "query", data, success, timestamp: "2026-11-15T09:02:29.239Z" });
const thinking = line({ event: "thinking", taskId: "t" });
const response = line({ content: "5433", event: "response", taskId: "t" });
const completed = line({ event: "completed", result: "5433", status: "completed", taskId: "t" });

function reply(
  stdout: string,
  more: { code?: number | undefined; stderr?: string; command?: BrvCommand } = {},
) {
  const code = "code" in more ? more.code : 0;
  return readReply(more.command ?? query, { kind: "exited", code, stdout, stderr: more.stderr ?? "" });
}

describe("the reply of brv", () => {
  it("is the data of the last line, progress before it ignored", () => {
    expect(reply(`${[thinking, response, completed].join("\n")}\n`)).toMatchObject({
      ok: true,
      value: { result: "5433", status: "completed" },
    });
  });

  it("is a success when a note is queued", () => {
    expect(reply(line({ status: "queued" })).ok).toBe(true);
  });

  it("passes over notices and half a line behind it", () => {
    expect(reply(`Update available!\n${completed}\n\nTip: something\n{"command":"que`).ok).toBe(true);
  });

  it("is an error when the last line says so, although the exit code is 0", () => {
    expect(reply(line({ error: "No provider connected.\nRun it.", status: "error" }, false))).toEqual({
      ok: false,
      error: "No provider connected. Run it",
    });
    expect(reply([completed, line({ message: "Task timed out after 10s" }, false)].join("\n"))).toEqual({
      ok: false,
      error: "Task timed out after 10s",
    });
    expect(reply(line({}, false))).toEqual({ ok: false, error: "brv query failed without a reason" });
  });

  it("is an error when brv stopped in the middle", () => {
    expect(reply([thinking, response].join("\n"))).toMatchObject({ ok: false });
    expect(reply(line({ status: "running" }))).toMatchObject({ ok: false });
    expect(reply(JSON.stringify({ data: { status: "completed" } }))).toMatchObject({ ok: false });
  });

  it("is an error with a hint when it is no JSON, as from an older version", () => {
    expect(reply("The port is 5433.")).toMatchObject({ ok: false, error: expect.stringContaining("3.14") });
    expect(reply("")).toMatchObject({ ok: false, error: expect.stringContaining("3.14") });
    expect(reply("null\n[1]\n7")).toMatchObject({ ok: false });
  });

  it("is a failure with the text of stderr, stdout or the exit code when that is not 0", () => {
    expect(reply("out", { code: 2, stderr: " ›  Error: bad\n flag\n" })).toEqual({
      ok: false,
      error: "› Error: bad flag",
    });
    expect(reply(" out \n", { code: 1 })).toEqual({ ok: false, error: "out" });
    expect(reply("", { code: 7 })).toEqual({ ok: false, error: "brv exited 7" });
    expect(reply("", { code: undefined })).toEqual({ ok: false, error: "brv exited by a signal" });
    expect(reply(completed, { code: 1, stderr: "lost" })).toEqual({ ok: false, error: "lost" });
  });

  it("needs no status where the command has none", () => {
    expect(reply(line({ cliVersion: "3.14.0" }), { command: status })).toMatchObject({ ok: true });
    expect(reply(line({ error: "no daemon" }, false), { command: status })).toMatchObject({ ok: false });
  });

  it("keeps messages short", () => {
    const failed = reply(line({ error: "x".repeat(5_000) }, false));
    expect(failed).toMatchObject({ ok: false, error: `${"x".repeat(300)}...` });
  });

  it("is never a success when the output was cut before its end", () => {
    const whole = [thinking, response, completed].join("\n");
    fc.assert(
      fc.property(fc.integer({ min: 0, max: whole.length - 1 }), (end) => {
        expect(reply(whole.slice(0, end)).ok).toBe(false);
      }),
    );
  });
});

describe("command lines", () => {
  it("put the text behind --, so that it is never taken for a flag or a command", () => {
    expect(searchCommand(" --limit 99 ", 5, LIMITS).args).toEqual([
      ...["search", "--format", "json", "--limit", "5", "--"],
      "--limit 99",
    ]);
    expect(query.args).toEqual(["query", "--format", "json", "--timeout", "10", "--", "what is the port"]);
    expect(queueCurateCommand("view", LIMITS).args).toEqual([
      ...["curate", "--format", "json", "--detach", "--"],
      "view",
    ]);
    expect(curateCommand("-f /etc/passwd", LIMITS).args).toEqual([
      ...["curate", "--format", "json", "--timeout", "115", "--"],
      "-f /etc/passwd",
    ]);
    expect(loginCommand("-key", LIMITS).args).toEqual(["login", "--format", "json", "--api-key=-key"]);
  });

  it("tell brv a time it accepts, and end it a little later than they said", () => {
    const short = queryCommand("q", 2_500, LIMITS);
    expect(short.args[4]).toBe("10");
    expect([short.limitMs, short.killMs]).toEqual([2_500, 5_500]);
    expect(queryCommand("q", 30_001, LIMITS).args[4]).toBe("31");
  });

  it("hold no NUL and nothing longer than the system takes", () => {
    expect(searchCommand("a\0b", 5, LIMITS).args.at(-1)).toBe("ab");
    expect(searchCommand("😀".repeat(5_001), 5, LIMITS).args.at(-1)).toBe("😀".repeat(5_000));
    const note = queueCurateCommand("😀".repeat(90_000), LIMITS).args.at(-1) ?? "";
    expect(Buffer.byteLength(note)).toBe(100_000);
  });
});

describe("the brv binary", () => {
  it("is the first program of that name on PATH", () => {
    const root = tempDirectory();
    const [empty, notProgram, first, second] = ["a", "b", "c", "d"].map((name) => join(root, name)) as [
      string,
      string,
      string,
      string,
    ];
    mkdirSync(empty);
    place(join(notProgram, "brv"), 0o644);
    mkdirSync(join(root, "e", "brv"), { recursive: true });
    place(join(first, "brv"));
    place(join(second, "brv"));
    place(join(root, "home", ".brv-cli", "bin", "brv"));
    const path = [empty, "", ".", notProgram, join(root, "e"), first, second].join(delimiter);
    expect(finder(join(root, "home"), path).find()).toBe(join(first, "brv"));
  });

  it.each([".brv-cli/bin/brv", ".npm-global/bin/brv"])("is found at ~/%s when PATH has none", (place_) => {
    const home = tempDirectory();
    place(join(home, place_));
    expect(finder(home, "").find()).toBe(join(home, place_));
  });

  it("is found where the system keeps programs, before the last place in the user's home", () => {
    const root = tempDirectory();
    const place_ = join(root, "local", "brv");
    place(place_);
    place(join(root, ".npm-global", "bin", "brv"));
    const options = { env: {}, userHome: root, recheckMs: 60_000 };
    expect(new BinaryFinder({ ...options, systemPlaces: [place_] }).find()).toBe(place_);
  });

  it("is searched for again a minute after it was missing, and at once by a search of the disk", () => {
    const home = tempDirectory();
    const clock = { ms: Date.UTC(2026, 5, 1) };
    const path = join(home, ".brv-cli", "bin", "brv");
    const binary = finder(home, "", clock);
    expect(binary.find()).toBeUndefined();
    place(path);
    clock.ms += 59_999;
    expect(binary.find()).toBeUndefined();
    clock.ms += 1;
    expect(binary.find()).toBe(path);

    const other = finder(home, "", clock);
    rmSync(path);
    expect(other.find()).toBeUndefined();
    place(path);
    expect(other.look()).toBe(path);
    expect(other.find()).toBe(path);
  });

  it("is remembered until it is reported missing", () => {
    const home = tempDirectory();
    const first = join(home, "first", "brv");
    const second = join(home, ".brv-cli", "bin", "brv");
    place(first);
    place(second);
    const binary = finder(home, dirname(first));
    expect(binary.find()).toBe(first);
    rmSync(first);
    expect(binary.find()).toBe(first);
    binary.forget();
    expect(binary.find()).toBe(second);
  });

  it("has its own directory first on the PATH of its children", () => {
    const env = { PATH: ["/x", "/y"].join(delimiter), KEEP: "1", GONE: undefined };
    expect(childEnvironment(env, "/bin/of/brv")).toEqual({
      PATH: ["/bin/of/brv", "/x", "/y"].join(delimiter),
      KEEP: "1",
    });
    expect(childEnvironment({ Path: "C:" }, "/b")).toEqual({ Path: `/b${delimiter}C:` });
    expect(childEnvironment({}, "/b")).toEqual({ PATH: "/b" });
  });
});

function finder(userHome: string, path: string, clock = { ms: 0 }): BinaryFinder {
  const now = () => new Date(clock.ms);
  return new BinaryFinder({
    env: { PATH: path },
    systemPlaces: [],
    userHome,
    recheckMs: 60_000,
    clock: { now },
  });
}

function place(path: string, mode = 0o755): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "#!/bin/sh\n");
  chmodSync(path, mode);
}
