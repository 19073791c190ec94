// /compress, from the typed line to the continuation of the session.

import { loadConfig } from "@hermes-memory/core/internal/config";
import { describe, expect, it } from "vitest";
import { runSlashCommand } from "../../src/agent/index.ts";
import { isSummaryRequest } from "../fakes/long-conversation.ts";
import { serverError } from "../fakes/wires/script.ts";
import { type CompactionHome, compactionHome, longText, SUMMARY } from "./compaction-home.ts";

async function type({ agent, home }: CompactionHome, line: string, answer = true) {
  const config = await loadConfig(home);
  if (!config.ok) throw new Error(config.error.message);
  const questions: string[] = [];
  const confirm = async (question: string): Promise<boolean> => {
    questions.push(question);
    return answer;
  };
  const reply = await runSlashCommand(agent, line, { config: config.value, confirm });
  return { kind: reply?.kind, text: reply?.lines.join("\n") ?? "", json: reply?.json, questions };
}

it("/compress summarises what lies between beginning and end, and says what came of it", async () => {
  const made = await compactionHome();
  const old = made.agent.sessionId;
  const { kind, text, json } = await type(made, "/compress");
  expect(kind).toBe("text");
  const count = made.agent.messages.length;
  expect(text).toContain(`Compacted 20 messages to ${count}.`);
  expect(text).toMatch(/The request had about [\d,]+ tokens and has about [\d,]+ tokens\./);
  expect(text).toContain(`The conversation goes on as session ${made.agent.sessionId}.`);
  expect(json).toMatchObject({
    kind: "compacted",
    old_session_id: old,
    session_id: made.agent.sessionId,
    feedback: { noop: false, note: null },
  });
  const texts = made.agent.messages.map(({ content }) => String(content));
  expect(texts[0]).toBe(longText("question1"));
  expect(texts.filter((each) => each.includes(SUMMARY))).toHaveLength(1);
  expect(texts.at(-1)).toBe(longText("answer10"));
  expect(made.wire.requests).toHaveLength(1);
});

it("from the second compaction on the user is told, once, that details are out of view", async () => {
  const made = await compactionHome();
  for (let round = 0; round < 3; round += 1) {
    await made.agent.compress();
    for (let turn = 0; turn < 4; turn += 1) await made.agent.run(longText(`later${round}x${turn}`));
  }
  const often = made.events.filter((event) => event.type === "notice" && event.cause === "compacted-often");
  expect(often).toHaveLength(1);
});

describe.each(["compressor", "lcm"])(
  "/compress with the engine %s when no model gives a summary",
  (engine) => {
    const unreachable = (config = {}): Promise<CompactionHome> =>
      compactionHome({
        config: { context: { engine }, ...config },
        answer: (request) => (isSummaryRequest(request) ? serverError() : undefined),
        options: { waitForRetry: async () => {} },
      });
    const warnings = ({ events }: CompactionHome): readonly string[] =>
      events.flatMap((event) =>
        event.type === "notice" && event.cause !== "small-window" ? [event.text] : [],
      );

    it("asks before it puts a digest in their place, and says once that it did", async () => {
      const made = await unreachable();
      const old = made.agent.sessionId;
      const { kind, text, questions } = await type(made, "/compress");
      expect(questions).toHaveLength(1);
      expect(questions[0]).toMatch(/\(.+\)\. Compact with a local digest of \d+ messages instead\?$/);
      expect(kind).toBe("text");
      expect(made.agent.sessionId).not.toBe(old);
      expect(text.match(/without a model/g)).toHaveLength(1);
      expect(warnings(made)).toEqual([]);
      expect(await made.agent.run("go on")).toMatchObject({ completed: true });
    });

    it("changes nothing without a yes, also where no user can be asked", async () => {
      const made = await unreachable();
      const old = made.agent.sessionId;
      const before = made.agent.messages;
      const { kind, text } = await type(made, "/compress", false);
      expect(kind).toBe("error");
      expect(made.agent.sessionId).toBe(old);
      expect(made.agent.messages.map(({ content }) => content)).toEqual(before.map(({ content }) => content));
      expect(text).toContain("the conversation is unchanged");
      expect(text).toContain("'/compress --local'");
      expect(text.match(/could summarise/g)).toHaveLength(1);
      expect(warnings(made)).toEqual([]);
      expect(await made.store.summaries.listSummaryNodes([old])).toEqual([]);
    });
  },
);
