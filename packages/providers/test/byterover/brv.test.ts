import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import {
  curateCommand,
  findBrv,
  LIMITS,
  loginCommand,
  queryCommand,
  queueCurateCommand,
  readReply,
  reportCommand,
  searchCommand,
} from "../../src/byterover/brv.ts";
import {
  mirrorNote,
  preCompressNote,
  searchRecall,
  toolAnswer,
  turnNote,
} from "../../src/byterover/texts.ts";

const query = queryCommand("what is the port");
const line = (data: object, success = true) => JSON.stringify({ command: "query", data, success });
const response = line({ content: "5433", event: "response", taskId: "t" });
const completed = line({ event: "completed", result: "5433", status: "completed", taskId: "t" });

function reply(stdout: string, { code = 0 as number | undefined, stderr = "", command = query } = {}) {
  return readReply(command, { kind: "exited", code, stdout, stderr });
}

describe("the reply of brv", () => {
  it.each([
    ["progress before it", `${[response, completed].join("\n")}\n`, query],
    ["notices and half a line around it", `Update!\n${completed}\n\nTip\n{"command":"que`, query],
    ["a queued note", line({ status: "queued" }), query],
    ["a report, which has no status", line({ cliVersion: "3.14.0" }), reportCommand("status")],
  ])("is a success with %s", (_what, stdout, command) => {
    expect(reply(stdout, { command }).ok).toBe(true);
  });

  const refused = line({ error: "No provider connected.\nRun it.", status: "error" }, false);
  it.each([
    ["a refusal", refused, {}, "No provider connected. Run it"],
    ["a refusal after an answer", `${completed}\n${refused}`, {}, "No provider connected. Run it"],
    ["no reason", line({}, false), {}, "brv query failed without a reason"],
    ["a report that failed", line({ message: "down" }, false), { command: reportCommand("status") }, "down"],
    ["an end in the middle", response, {}, "brv query ended before it was done"],
    ["no JSON", "The port is 5433.", {}, expect.stringContaining("3.14")],
    ["no success", JSON.stringify({ data: { status: "completed" } }), {}, expect.stringContaining("3.14")],
    ["another exit code", completed, { code: 1, stderr: " ›  Error: bad\n flag\n" }, "› Error: bad flag"],
    ["only stdout", " out \n", { code: 1 }, "out"],
    ["only a code", "", { code: 7 }, "brv exited 7"],
    ["a long message", line({ error: "x".repeat(5_000) }, false), {}, `${"x".repeat(300)}...`],
  ])("is an error with %s", (_what, stdout, more, error) => {
    expect(reply(stdout, more)).toEqual({ ok: false, error });
  });

  it("is never a success when the output was cut before its end", () => {
    const whole = [response, completed].join("\n");
    fc.assert(
      fc.property(fc.integer({ min: 0, max: whole.length - 1 }), (end) => {
        expect(reply(whole.slice(0, end)).ok).toBe(false);
      }),
    );
  });
});

it("command lines have the text behind --, without NUL and not longer than the system takes", () => {
  const json = ["--format", "json"];
  expect(searchCommand(" --limit 99\0 ", LIMITS).args).toEqual(
    ["search", ...json, "--limit", "5", "--"].concat("--limit 99"),
  );
  expect(query.args).toEqual(["query", ...json, "--timeout", "10", "--", "what is the port"]);
  expect(curateCommand("-f /etc/passwd", LIMITS).args).toEqual(
    ["curate", ...json, "--timeout", "115", "--"].concat("-f /etc/passwd"),
  );
  expect(loginCommand("-key").args).toEqual(["login", ...json, "--api-key=-key"]);
  expect(searchCommand("😀".repeat(5_001), LIMITS).args.at(-1)).toBe("😀".repeat(5_000));
  const note = queueCurateCommand("😀".repeat(90_000), LIMITS).args.at(-1) ?? "";
  expect(Buffer.byteLength(note)).toBe(100_000);
});

it("brv is the first program of that name on PATH, or where its installer puts it", () => {
  const root = tempDirectory();
  const [notProgram, first, second] = ["a", "b", "c"].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  const home = join(root, "home");
  const system = join(root, "local", "brv");
  const find = (...path: string[]) =>
    findBrv({ env: { Path: path.join(delimiter) }, userHome: home, systemPlaces: [system] });
  mkdirSync(join(root, "d", "brv"), { recursive: true });
  place(join(notProgram, "brv"), 0o644);
  expect(find("", ".", notProgram, join(root, "d"))).toBeUndefined();
  const places = [
    join(home, ".npm-global/bin/brv"),
    system,
    join(home, ".brv-cli/bin/brv"),
    join(second, "brv"),
    join(first, "brv"),
  ];
  for (const path of places) {
    place(path);
    expect(find("", ".", notProgram, join(root, "d"), first, second)).toBe(path);
  }
});

function place(path: string, mode = 0o755): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "#!/bin/sh\n");
  chmodSync(path, mode);
}

describe("notes for ByteRover", () => {
  it("hold the texts of both sides, each cut at 2000 characters, if the user wrote at least 10", () => {
    const [user, assistant] = (turnNote("ü😀".repeat(1_500), "x".repeat(2_001)) ?? "").split("\n");
    expect([user, assistant]).toEqual([`User: ${"ü😀".repeat(1_000)}`, `Assistant: ${"x".repeat(2_000)}`]);
    expect(turnNote("  123456789  ", "a long answer")).toBeUndefined();
  });

  it("say whose memory changed, and leave removals out", () => {
    expect(mirrorNote("add", "user", "likes tea")).toBe("[User profile] likes tea");
    expect(mirrorNote("replace", "memory", "uses pnpm")).toBe("[Agent memory] uses pnpm");
    expect(mirrorNote("remove", "memory", "text")).toBeUndefined();
    expect(mirrorNote("add", "user", " \n")).toBeUndefined();
  });

  it("hold the last ten messages before a compression, texts of the two sides only, 500 characters each", () => {
    const messages = [
      { role: "user", content: "too old" },
      { role: "user", content: "question" },
      ...Array.from({ length: 6 }, () => ({ role: "tool", content: "output" })),
      { role: "assistant", content: "  \n" },
      { role: "assistant", content: [{ type: "text" as const, text: "parts" }] },
      { role: "assistant", content: "y".repeat(501) },
    ];
    const note = `[Pre-compression context]\nuser: question\nassistant: ${"y".repeat(500)}`;
    expect(preCompressNote(messages)).toBe(note);
    expect(preCompressNote(messages.slice(2, 8))).toBeUndefined();
  });
});

describe("what ByteRover found", () => {
  const hit = { title: "Ports", path: "infra/ports.md", score: 0.8, excerpt: "The database port is 5433." };

  it("is a list of hits with title and path, within 5,000 characters; empty without hits", () => {
    const other = { excerpt: "\nStaging uses 5434.\n" };
    expect(searchRecall({ results: [hit, other, "odd", {}, { title: "empty", excerpt: " " }] })).toBe(
      "## ByteRover Context\n**Ports** (infra/ports.md)\nThe database port is 5433.\n\nStaging uses 5434.",
    );
    expect(searchRecall({ results: Array(500).fill(hit) }).length).toBeLessThanOrEqual(5_000);
    for (const none of [
      { results: [] },
      { message: "no results at all, but a long sentence" },
      { results: [{ excerpt: "short" }] },
    ])
      expect(searchRecall(none)).toBe("");
  });

  it.each([
    ["It is 5433 everywhere\n\n---\nSource: ByteRover Knowledge Base", "It is 5433 everywhere"],
    [
      '**Summary**: No matching knowledge found for "zebra".\n\n**Details**: none.',
      "No relevant memories found.",
    ],
    ["x".repeat(19), "No relevant memories found."],
    ["", "No relevant memories found."],
    ["😀".repeat(8_001), `${"😀".repeat(8_000)}\n\n[... truncated]`],
  ])("is an answer of a model (%#)", (result, answer) => {
    expect(toolAnswer({ result })).toBe(answer);
    expect(toolAnswer({ content: result })).toBe(answer);
  });
});
