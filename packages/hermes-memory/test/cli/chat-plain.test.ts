import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { hasModel } from "../../src/cli/chat/has-model.ts";
import {
  answerLines,
  answerOnce,
  type PlainOptions,
  PlainOutput,
  pipedLines,
  readQuestion,
} from "../../src/cli/chat/plain-chat.ts";
import { painter } from "../../src/cli/terminal.ts";
import { fakeAgent, fakeCommands } from "./chat-fakes.ts";

function plain(changes: Partial<PlainOptions> = {}) {
  const played = fakeAgent();
  let stdout = "";
  let stderr = "";
  const io = {
    out: (text: string) => {
      stdout += text;
    },
    note: (text: string) => {
      stderr += text;
    },
    paint: painter(false),
  };
  const options = { isJson: false, isQuiet: false, isStreamed: false, showReasoning: false, ...changes };
  const output = new PlainOutput(io, options);
  played.listen((event) => output.onEvent(event));
  const stopped = new AbortController();
  const parts = { agent: played.agent, output, signal: stopped.signal };
  return { ...played, output, parts, stopped, stdout: () => stdout, stderr: () => stderr };
}

async function* linesOf(...lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

async function* chunksOf(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk as Uint8Array);
}

describe("one question", () => {
  it("puts the answer on stdout, once, and everything else on stderr", async () => {
    const { parts, nextTurn, stdout, stderr } = plain();
    const done = answerOnce("Which colour?", parts);
    const turn = await nextTurn();
    turn.emit({ type: "text-delta", text: "Wrong" });
    turn.emit({ type: "text-discard" });
    turn.emit({ type: "tool-start", callId: "1", name: "session_search", preview: "crane", input: {} });
    turn.emit({
      type: "tool-end",
      callId: "1",
      name: "session_search",
      output: "found",
      isError: false,
      durationMs: 3,
      resultChars: 9,
    });
    turn.emit({ type: "text-delta", text: "Blue.\u001b[2J" });
    turn.end({ final_response: "Blue.\u001b[2J" });
    expect((await done).exitCode).toBe(0);
    expect(stdout()).toBe("Blue.\\x1b[2J\n");
    expect(stderr()).toContain("  session_search  crane  done in 3 ms\n");
    expect(stderr()).toMatch(/context 1,234\/20,000 \(6%\) · memory 45%\n$/);
    expect(stderr()).not.toContain("Blue");
  });

  it("ends with 130 when it is interrupted, and prints no answer", async () => {
    const { parts, nextTurn, stopped, stdout } = plain();
    const done = answerOnce("Which colour?", parts);
    await nextTurn();
    stopped.abort();
    expect((await done).exitCode).toBe(130);
    expect(stdout()).toBe("");
  });

  it("tells every event as a line of JSON, the end of the turn last", async () => {
    const { parts, output, nextTurn, stdout, stderr } = plain({ isJson: true });
    const done = answerOnce("Which colour?", parts);
    const turn = await nextTurn();
    turn.emit({ type: "text-delta", text: "Blue\n." });
    turn.end({ final_response: "Blue\n." });
    await done;
    output.end();
    turn.emit({ type: "title-set", sessionId: "s", title: "late" });
    const lines = stdout().trimEnd().split("\n");
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(["turn-start", "text-delta", "turn-end"]);
    expect(stderr()).toBe("");
  });
});

describe("a pipe", () => {
  it("takes every line for a message, joins those that end in a backslash, and skips empty ones", async () => {
    const { parts, nextTurn, stdout } = plain();
    const asked: string[] = [];
    const done = answerLines(linesOf("one", "", "two\\", "  three", "four\\"), fakeCommands().run, parts);
    for (let i = 0; i < 3; i += 1) {
      const turn = await nextTurn();
      asked.push(turn.text);
      turn.end({ final_response: `answer ${i}` });
    }
    expect((await done).exitCode).toBe(0);
    expect(asked).toEqual(["one", "two\n  three", "four\n"]);
    expect(stdout()).toBe("answer 0\nanswer 1\nanswer 2\n");
  });

  it("runs commands, goes on after one that fails, and ends with 1 then", async () => {
    const { parts, nextTurn, stdout, stderr } = plain();
    const { run } = fakeCommands({
      "/usage": { kind: "text", lines: ["Tokens: 5"], json: null },
      "/nope": { kind: "error", lines: ["There is no '/nope'."], json: null },
      "/exit": { kind: "exit", lines: [], json: null },
    });
    const done = answerLines(linesOf("/usage", "/nope", "hello", "/exit", "never"), run, parts);
    (await nextTurn()).end({ final_response: "hi" });
    expect((await done).exitCode).toBe(1);
    expect(stdout()).toBe("Tokens: 5\nhi\n");
    expect(stderr()).toMatch(/^There is no '\/nope'\.\n/);
  });

  it("stops waiting for a line when it is interrupted", async () => {
    const { parts, stopped } = plain();
    const silent = new PassThrough(); // never says anything
    const done = answerLines(pipedLines(silent, stopped.signal), fakeCommands().run, parts);
    stopped.abort();
    expect((await done).exitCode).toBe(130);
  });

  it("refuses bytes that are no text, and says where", async () => {
    const read = async (): Promise<string[]> => {
      const lines: string[] = [];
      const chunks = chunksOf("good\nb", "oth\r\n", new Uint8Array([0xff, 0x0a]));
      for await (const line of pipedLines(chunks, new AbortController().signal)) lines.push(line);
      return lines;
    };
    await expect(read()).rejects.toThrow("Line 3 of the piped input is not valid UTF-8");
  });
});

describe("the question of -q", () => {
  const io = (piped: string) => ({ readInput: async () => piped, note: () => {} });

  it.each([
    ["alone", "Why?", "", "Why?"],
    ["with context", "Why?", "the log\n", "Why?\n\nthe log\n"],
    ["with nothing but blanks piped in", "Why?", " \n", "Why?"],
    ["from standard input", "-", "Why, then?\n", "Why, then?\n"],
  ])("is read %s", async (_name, query, piped, question) => {
    expect(await readQuestion(io(piped), query, true)).toBe(question);
  });

  it.each([
    ["", ""],
    ["-", " "],
  ])("must not be empty: '%s' with '%s' piped in", async (query, piped) => {
    await expect(readQuestion(io(piped), query, true)).rejects.toMatchObject({ exitCode: 2 });
  });
});

describe("hermes alone", () => {
  it.each([
    ["the environment", {}, { HERMES_MODEL: "m" }, true],
    [".env", { ".env": "HERMES_MODEL=m\n" }, {}, true],
    ["config.yaml", { "config.yaml": "model:\n  default: m\n" }, {}, true],
    ["nobody", { "config.yaml": "model:\n  provider: ollama\n" }, { HERMES_MODEL: " " }, false],
    ["a config that cannot be read", { "config.yaml": "model: [\n" }, {}, false],
  ])("is a chat when a model is named by %s: %j %j", async (_name, files, env, expected) => {
    const home = tempDirectory();
    for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
    expect(await hasModel(home, env)).toBe(expected);
  });
});
