import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { gemini } from "../../../src/transcripts/formats/gemini.ts";
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
