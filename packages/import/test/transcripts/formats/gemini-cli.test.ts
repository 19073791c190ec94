import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { gemini } from "../../../src/transcripts/formats/gemini.ts";
import { DEFAULT_PREPARE, prepared } from "../../../src/transcripts/prepare.ts";
import { readHome } from "../read-fixture.ts";
import { messagesIn } from "./plain-reading.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "hermes-gemini-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Message = { id: string; type: "user"; content: string };
type Step =
  | { kind: "message"; message: Message }
  | { kind: "all"; messages: Message[] }
  | { kind: "rewind"; id: string };

const message = fc.record({
  id: fc.constantFrom("a", "b", "c", "d", "e"),
  type: fc.constant("user" as const),
  content: fc.constantFrom("one", "two", "three", "four"),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("message" as const), message }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("all" as const),
      messages: fc.uniqueArray(message, { selector: ({ id }) => id }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("rewind" as const), id: message.map(({ id }) => id) }),
  },
);

it("keeps active what a replay of all records in memory would keep", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
      const lines: unknown[] = [{ sessionId: "s", projectHash: "h" }];
      let replayed: Message[] = [];
      /** With what a list took back, as long as nothing but lists follows it. */
      let whole: Message[] = [];
      for (const one of steps) {
        if (one.kind === "message") {
          lines.push(one.message);
          const known = replayed.findIndex(({ id }) => id === one.message.id);
          if (known === -1) replayed.push(one.message);
          else replayed[known] = one.message;
        } else if (one.kind === "all") {
          lines.push({ $set: { messages: one.messages } });
          const known = new Set(whole.map(({ id }) => id));
          const added = one.messages.filter(({ id }) => !known.has(id));
          const last = whole.findLastIndex(({ id }) => one.messages.some((listed) => listed.id === id));
          replayed = [...whole.slice(0, last + 1), ...added];
          whole = [...whole, ...added];
        } else {
          lines.push({ $rewindTo: one.id });
          replayed = replayed.slice(
            0,
            Math.max(
              replayed.findIndex(({ id }) => id === one.id),
              0,
            ),
          );
        }
        if (one.kind !== "all") whole = replayed;
      }
      const path = join(folder, "session-x.jsonl");
      await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      const { s: found = [] } = await messagesIn(gemini, path);
      const active = found.filter(({ isActive }) => isActive !== false);
      expect(active.map(({ id, text }) => `${id} ${text}`)).toEqual(
        replayed.map(({ id, content }) => `${id} ${content}`),
      );
      const ids = found.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    }),
    { numRuns: 60 },
  );
});

const HEADER = { sessionId: "s", projectHash: "h" };
const CONTEXT = [{ text: "<session_context>x</session_context>" }];
const at = (second: number) => `2026-09-01T09:00:${String(second).padStart(2, "0")}Z`;
async function chat(...lines: readonly object[]): Promise<string> {
  const path = join(folder, "session-y.jsonl");
  await writeFile(path, [HEADER, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
  return path;
}
async function rowsOf(path: string): Promise<string[]> {
  const { s: found = [] } = await messagesIn(gemini, path);
  return found.flatMap((one) => {
    const stored = one.isActive === false ? undefined : prepared(one, DEFAULT_PREPARE);
    return stored?.content ? [`${new Date(1000 * (one.at ?? 0)).getSeconds()} ${stored.content}`] : [];
  });
}

it("keeps prompts that begin with the context of a hook, a slash or a question mark", async () => {
  const content = (text: string) => [{ text }, { text: "<hook_context>about it</hook_context>" }];
  const path = await chat(
    { id: "c", timestamp: at(0), type: "user", content: CONTEXT },
    { id: "a", timestamp: at(1), type: "user", content: content("<hook_context>x</hook_context>\n\nhello") },
    { id: "b", timestamp: at(2), type: "user", content: content("/etc/hosts is wrong, why?") },
    { id: "d", timestamp: at(3), type: "user", content: "?" },
  );
  expect(await rowsOf(path)).toEqual(["1 hello", "2 /etc/hosts is wrong, why?", "3 ?"]);
});

it("keeps times, calls and prompts that a resume does not repeat", async () => {
  const context = (second: number) => ({ id: "c", timestamp: at(second), type: "user", content: CONTEXT });
  const prompt = { id: "a", timestamp: at(1), type: "user", content: "<hook_context>x</hook_context>\n\nhi" };
  const call = { id: "x", name: "ls", args: {}, timestamp: at(3), resultDisplay: "a.txt" };
  const first = { id: "b", timestamp: at(2), type: "gemini", content: "looking", toolCalls: [call] };
  const second = { id: "d", timestamp: at(4), type: "gemini", content: "done", model: "m" };
  const repeated = [first, second].map(({ id, type, content }) => ({ id, type, content, timestamp: at(30) }));
  const path = await chat(
    ...[context(0), prompt, first, second, HEADER],
    { $set: { messages: [context(30)] } },
    { $set: { messages: [context(30), ...repeated] } },
    { id: "e", timestamp: at(31), type: "user", content: "and now?" },
  );
  expect(await rowsOf(path)).toEqual(["1 hi", "2 looking", "3 a.txt", "4 done", "31 and now?"]);
});

it("keeps the turns that a compaction sums up, without the summary", async () => {
  const path = await chat(
    { id: "a", timestamp: at(1), type: "user", content: "hello" },
    { id: "b", timestamp: at(2), type: "gemini", content: "hi" },
    {
      $set: {
        messages: [
          { id: "s", timestamp: at(9), type: "user", content: "<state_snapshot>x</state_snapshot>" },
        ],
      },
    },
    { id: "d", timestamp: at(10), type: "user", content: "go on" },
  );
  expect(await rowsOf(path)).toEqual(["1 hello", "2 hi", "10 go on"]);
});

it("takes a file in the folder of another session for that session's subagent", async () => {
  const chats = join(folder, "tmp", "p1", "chats", "s1");
  await mkdir(chats, { recursive: true });
  const lines = [
    { sessionId: "s2", projectHash: "h" },
    { id: "a", type: "user", content: "look for callers" },
  ];
  await writeFile(join(chats, "s2.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const { sessions } = await readHome(gemini, folder, { path: join(folder, "tmp") });
  expect(sessions[0]?.facts).toMatchObject({ nativeId: "s2", parent: "s1", visibility: "subagent" });
});
