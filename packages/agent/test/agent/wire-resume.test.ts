// A conversation that was read back from the database gives the same request as the live one, byte for byte: one agent
// leads a random conversation, and the next message is sent by it and by a second agent that resumes a copy.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sessionDatabasePath } from "@hermes-memory/core/home";
import { tool } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type Agent, createAgent, type UserInput } from "../../src/agent/index.ts";
import { badKey, type ScriptedToolCall, type Step } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";

const FENCED = "<memory-context>\nlikes tea\n</memory-context>";

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom(
    "",
    "  padded \n",
    "你好，世界 — größe",
    "👩‍👩‍👧 🏳️‍🌈",
    "a\u0000b",
    "\ud800 half a pair",
    `before\n${FENCED}\nafter`,
    "<think>loud</think>quiet",
    "\u0085x\ufeff\u00a0",
    '{"todos":"none"}',
    "api_key=sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
  ),
);

/** `n`: which of the turn's texts the tool gives back; -1: the user interrupts, -2: the user says something meanwhile. */
const call: fc.Arbitrary<ScriptedToolCall> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ name: fc.constant("echo"), arguments: fc.record({ n: fc.nat(3), note: text }) }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(-1, -2).map((n) => ({ name: "echo", arguments: { n, note: "" } })),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom<ScriptedToolCall>(
      { name: "todo", arguments: { todos: [{ id: "1", content: "größe\u0000", status: "pending" }] } },
      { name: "session_search", arguments: '{ "query": "你好",  "limit": 1 }' },
      { name: "no_such_thing_at_all", arguments: "{}" },
      { name: "echo", arguments: '{"n": 1, "note": "\\ud800"}' },
      { name: "echo", arguments: '{"note": "b", "__proto__": {"z": 1, "a": 1.50}, "n": 1}' },
      { name: "echo", arguments: "{oops" },
      { name: "todo", arguments: "" },
    ),
  },
);

const step: fc.Arbitrary<Step> = fc.record(
  {
    text,
    reasoning: text,
    signature: fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 8 }),
    toolCalls: fc.array(call, { maxLength: 3 }),
    finish: fc.constantFrom("stop" as const, "length" as const),
  },
  { requiredKeys: [] },
);

const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
const input: fc.Arbitrary<UserInput> = fc.oneof(
  text.map((said) => `say ${said}`),
  text.map((said) => [{ type: "text", text: said }, IMAGE, { type: "text", text: "that" }]),
);

const turn = fc.record({
  kind: fc.constant("turn" as const),
  input,
  steps: fc.array(fc.oneof({ weight: 9, arbitrary: step }, { weight: 1, arbitrary: fc.constant(badKey()) }), {
    minLength: 1,
    maxLength: 4,
  }),
  results: fc.array(text, { minLength: 4, maxLength: 4 }),
});
const action = fc.oneof(
  { weight: 8, arbitrary: turn },
  { weight: 1, arbitrary: fc.constant({ kind: "undo" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "compress" as const }) },
);
const conversation = fc
  .tuple(turn, fc.array(action, { maxLength: 4 }))
  .map(([first, more]) => [first, ...more]);

describe.each(["chat", "responses", "anthropic", "google"] as const)(
  "a session resumed over the %s wire",
  (kind) => {
    it("sends what the live one sends, whatever was said, thought, called and answered", async () => {
      let agent: Agent | undefined;
      let steps: readonly Step[] = [];
      let results: readonly string[] = [];
      const echo = tool({
        description: "Gives a text.",
        inputSchema: z.object({ n: z.number(), note: z.string() }),
        execute: ({ n }) => {
          if (n === -1) agent?.interrupt();
          if (n === -2) agent?.steer("by the way: 顺便");
          return results[n] ?? "nothing";
        },
      });
      const options = { env: {}, titles: false, tools: { echo }, waitForRetry: async () => {} };
      const { wire, home, another } = await agentHome(
        ({ tools }) => {
          if (tools.length === 0) return { text: "## Goal\nTalk." };
          const [next = { text: "ok" }, ...others] = steps;
          steps = others;
          return "status" in next ? next : { chunkChars: 16, ...next };
        },
        { kind, options },
      );
      const live = await another();
      agent = live;
      await fc.assert(
        fc.asyncProperty(conversation, input, async (actions, next) => {
          await live.newSession();
          for (const each of actions) {
            if (each.kind === "undo") await live.undo(1);
            else if (each.kind === "compress") await live.compress();
            else {
              ({ steps, results } = each);
              await live.run(each.input);
            }
          }
          fc.pre(live.messages.length > 0); // a session without a history begins anew
          const copy = copyOf(home);
          const sent = wire.requests.length;
          steps = [];
          await live.run(next);
          await using resumed = await createAgent({
            home: copy,
            administrator: true,
            cwd: copy,
            contextFiles: true,
            toolsets: null,
            ...options,
            resume: live.sessionId,
          });
          await resumed.run(next);
          const [ofLive, ofResumed, ...more] = wire.requests.slice(sent).map(({ raw }) => raw);
          expect(more).toEqual([]);
          expect(differenceOf(ofResumed, ofLive)).toBeUndefined();
        }),
        { numRuns: 10 },
      );
    }, 60_000);
  },
);

/** The first difference of two texts with some context: whole requests are too long to print. */
function differenceOf(one: string | undefined, other: string | undefined): unknown {
  if (one === undefined || other === undefined) return "a request is missing";
  if (one === other) return undefined;
  let at = 0;
  while (one[at] === other[at]) at += 1;
  return [one, other].map((each) => each.slice(Math.max(0, at - 200), at + 200));
}

/** The home as it is now, database and config. */
function copyOf(home: string): string {
  const copy = tempDirectory();
  const db = new DatabaseSync(sessionDatabasePath(home));
  db.prepare("VACUUM INTO ?").run(sessionDatabasePath(copy));
  db.close();
  copyFileSync(join(home, "config.yaml"), join(copy, "config.yaml"));
  return copy;
}
