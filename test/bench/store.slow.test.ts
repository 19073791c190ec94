// The store benchmark as it is run: a real process on a small corpus. How long anything takes is not looked at.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it, onTestFinished } from "vitest";
import { type CorpusMessage, generateCorpus } from "../../bench/corpus/index.ts";
import { tempDirectory } from "../../packages/core/test/fakes/temp-directory.ts";

const MESSAGES = 300;
const milliseconds = { p50_ms: expect.any(Number), p95_ms: expect.any(Number) };
const speed = { per_s: expect.any(Number), per_cpu_s: expect.any(Number), ...milliseconds };

describe("the store benchmark", () => {
  it("prints one JSON line with every figure, and leaves nothing behind", async () => {
    const { stdout, code, temporary } = await runStore(["--messages", String(MESSAGES)]);
    expect(code).toBe(0);
    const figures = onlyLine(stdout);
    expect(figures).toMatchObject({
      bench: "store",
      messages: MESSAGES,
      append: speed,
      appendMany20: speed,
      bytes_per_message: expect.any(Number),
      bytes_per_text_byte: expect.any(Number),
      browse: milliseconds,
      scroll: milliseconds,
      floor: { append: speed, appendMany20: speed },
    });
    expect(figuresIn(figures).every((figure) => figure > 0)).toBe(true);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("counts the text of the corpus its seed gives, the same at every run", async () => {
    const sizeOf = ({ text_bytes, mean_chars, sessions }: Figures) => ({ text_bytes, mean_chars, sessions });
    const args = ["--messages", String(MESSAGES), "--seed"];
    const first = onlyLine((await runStore([...args, "1"])).stdout);
    const again = onlyLine((await runStore([...args, "1"])).stdout);
    const other = onlyLine((await runStore([...args, "2"])).stdout);
    expect(sizeOf(again)).toEqual(sizeOf(first));
    expect(other.text_bytes).not.toBe(first.text_bytes);
  });

  it("keeps the database that --db names, with every message of all --corpus files, in order", async () => {
    const folder = tempDirectory();
    const messages = [...generateCorpus({ messages: MESSAGES, seed: 3 })];
    const [one, two] = [join(folder, "one.jsonl"), join(folder, "two.jsonl")];
    writeCorpus(one, messages.slice(0, 110));
    writeCorpus(two, messages.slice(110));
    const path = join(folder, "new", "kept.db");
    const { stdout, code } = await runStore(["--corpus", one, two, "--db", path]);
    expect(code).toBe(0);
    expect(onlyLine(stdout)).toMatchObject({ corpus: "one.jsonl, two.jsonl", messages: MESSAGES });
    expect(readdirSync(join(folder, "new")).filter((name) => !name.startsWith("kept.db"))).toEqual([]);

    const absent = { tool_calls: null, tool_name: null, tool_call_id: null, finish_reason: null };
    const bySession = Map.groupBy(messages, (message) => message.s);
    expect(bySession.size).toBeGreaterThan(1);
    await using store = await openSessionStore({ path });
    for (const [session, expected] of bySession) {
      const stored = await store.getMessages(session);
      expect(stored).toMatchObject(
        expected.map(({ s, ts, ...fields }) => ({ ...absent, ...fields, session_id: s, timestamp: ts })),
      );
    }
  });

  it("takes only as many messages of a corpus as --messages says", async () => {
    const file = join(tempDirectory(), "corpus.jsonl");
    writeCorpus(file, [...generateCorpus({ messages: 60, seed: 4 })]);
    const { stdout } = await runStore(["--corpus", file, "--messages", "40"]);
    expect(onlyLine(stdout)).toMatchObject({ messages: 40 });
  });

  it("refuses a --db that exists, and leaves it as it was", async () => {
    const folder = tempDirectory();
    const path = join(folder, "mine.db");
    writeFileSync(path, "not to be touched");
    const { stdout, stderr, code } = await runStore(["--messages", String(MESSAGES), "--db", path]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`${path} exists already.`);
    expect(readFileSync(path, "utf8")).toBe("not to be touched");
    expect(readdirSync(folder)).toEqual(["mine.db"]);
  });

  it("names file and line of what is no message, before it makes a database", async () => {
    const folder = tempDirectory();
    const [good, bad] = [join(folder, "good.jsonl"), join(folder, "bad.jsonl")];
    const messages = [...generateCorpus({ messages: 30, seed: 5 })];
    writeCorpus(good, messages);
    writeCorpus(bad, messages.slice(0, 3));
    writeFileSync(bad, '{"s":"a","role":"user"}\n', { flag: "a" });
    const path = join(folder, "kept.db");
    const { stdout, stderr, code } = await runStore(["--corpus", good, bad, "--db", path]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`${bad}:4 is not a message`);
    expect(existsSync(path)).toBe(false);
  });

  it.each([
    [["--messages", "many"], "--messages takes a whole number above 0, not 'many'."],
    [["--messages", "0"], "--messages takes a whole number above 0, not '0'."],
    [["--corpus"], "--corpus needs at least one file."],
  ])("says what is wrong with %j", async (args, message) => {
    const { stdout, stderr, code } = await runStore(args);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: `${message}\n` });
  });
});

const MAIN = fileURLToPath(new URL("../../bench/main.ts", import.meta.url));

/** With a folder of the test's own for what the benchmark writes in passing. */
async function runStore(args: readonly string[]) {
  const temporary = join(tempDirectory(), "temporary");
  mkdirSync(temporary);
  const child = spawn(process.execPath, [MAIN, "store", ...args], {
    env: { ...process.env, TMPDIR: temporary, TEMP: temporary, TMP: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL")); // a test that ran out of time leaves no process behind
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { stdout, stderr, code: child.exitCode, temporary };
}

type Figures = Readonly<Record<string, unknown>>;

function onlyLine(stdout: string): Figures {
  const lines = stdout.split("\n");
  expect(lines).toEqual([expect.any(String), ""]);
  return JSON.parse(lines[0] ?? "") as Figures;
}

/** All numbers, however deep. */
function figuresIn(value: unknown): number[] {
  if (typeof value === "number") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(figuresIn) : [];
}

function writeCorpus(file: string, messages: readonly CorpusMessage[]): void {
  writeFileSync(file, `${messages.map((message) => JSON.stringify(message)).join("\n")}\n`);
}
