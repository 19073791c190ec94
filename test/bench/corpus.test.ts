// The data of the benchmarks: figures are only worth comparing when it stays what it says it is.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { codePointLength } from "@hermes-memory/core/internal/lib";
import { describe, expect, it } from "vitest";
import { makeHistory } from "../../bench/context/history.ts";
import { type CorpusMessage, generateCorpus, readCorpus, sourceOf } from "../../bench/corpus/index.ts";
import { generateFacts } from "../../bench/holographic/generate.ts";
import { labelledFacts, labelledQuestions } from "../../bench/holographic/labelled.ts";
import { flaggedAt, hitsAt, recallAt } from "../../bench/recall/share.ts";
import { tempDirectory } from "../../packages/core/test/fakes/temp-directory.ts";

const corpus = [...generateCorpus({ messages: 20_000, seed: 1 })];
const textOf = ({ content }: CorpusMessage): string => (typeof content === "string" ? content : "");

describe("generated data", () => {
  it("is decided by the seed alone, and a shorter one is the beginning of a longer one", () => {
    expect([...generateCorpus({ messages: 500, seed: 1 })]).toEqual(corpus.slice(0, 500));
    expect([...generateCorpus({ messages: 500, seed: 2 })]).not.toEqual(corpus.slice(0, 500));
    expect(makeHistory(500, 3)).toEqual(makeHistory(2_000, 3).slice(0, 500));
    expect([...generateFacts(50, 1)]).toEqual([...generateFacts(500, 1)].slice(0, 50));
  });

  it("has messages of 533 characters on average, every tenth of them Chinese, in sessions of 5 to 200", () => {
    const mean = corpus.reduce((sum, message) => sum + codePointLength(textOf(message)), 0) / corpus.length;
    expect(Math.abs(mean - 533)).toBeLessThan(14);
    const chinese = corpus.filter((message) => /\p{Script=Han}/u.test(textOf(message)));
    expect(Math.abs(chinese.length / corpus.length - 0.1)).toBeLessThan(0.01);
    const sizes = [...Map.groupBy(corpus, ({ s }) => s).values()].slice(0, -1).map(({ length }) => length);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(5);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(200);
    const sources = new Set(corpus.map(({ s }) => sourceOf(s)));
    expect([...sources]).toEqual(expect.arrayContaining(["cli", "cron", "discord", "subagent", "telegram"]));
  });

  it("answers every tool call with a result of the same id and name, in the order of the calls", () => {
    let open: string[] = [];
    for (const [i, message] of corpus.entries()) {
      if (message.s !== corpus[i - 1]?.s) open = [];
      if (message.role === "tool") expect(`${message.tool_call_id} ${message.tool_name}`).toBe(open.shift());
      else {
        expect(open).toEqual([]);
        const calls = (message.tool_calls ?? []) as { id: string; function: { name: string } }[];
        open = calls.map((call) => `${call.id} ${call.function.name}`);
      }
    }
  });
});

it("the labelled set has 200 facts, and 100 questions that name all facts that answer them", () => {
  const facts = labelledFacts();
  const questions = labelledQuestions();
  expect(new Set(facts.map(({ id }) => id)).size).toBe(200);
  const kinds = [...Map.groupBy(questions, ({ kind }) => kind)].map(([kind, { length }]) => [kind, length]);
  expect(Object.fromEntries(kinds)).toEqual({ plain: 60, probe: 20, reason: 15, contradiction: 5 });
  for (const { id, entities, relevant } of questions) {
    const named = facts.filter((fact) => relevant.includes(fact.id));
    expect(named, id).toHaveLength(relevant.length);
    if (entities === undefined) continue;
    const mentioning = facts.filter(({ content }) => entities.every((name) => content.includes(name)));
    expect(named, id).toEqual(mentioning);
  }
});

describe("reading a corpus", () => {
  it("gives back what was written, over several files, without blank lines", async () => {
    const lines = corpus.slice(0, 40).map((message) => JSON.stringify(message));
    const files = [
      fileWith(`${lines.slice(0, 25).join("\n")}\n\n  \n`),
      fileWith(lines.slice(25).join("\r\n")),
    ];
    expect(await all(readCorpus(files))).toEqual(corpus.slice(0, 40));
  });

  it.each([
    ["no JSON", '{"s":'],
    ["no object", "[1]"],
    ["no session", '{"role":"user","content":"x","ts":1}'],
    ["a time in words", '{"s":"a","role":"user","content":"x","ts":"noon"}'],
    ["tool calls that are no list", '{"s":"a","role":"user","content":"x","ts":1,"tool_calls":"y"}'],
  ])("names file and line where there is %s", async (_, line) => {
    const file = fileWith(`{"s":"a","role":"user","content":"fine","ts":1}\n\n${line}\n`);
    await expect(all(readCorpus([file]))).rejects.toMatchObject({
      code: "bad-corpus-line",
      message: expect.stringContaining(`${file}:3 `),
    });
  });
});

describe("the figures of recall", () => {
  it("are shares of what is wanted among the first answers, each answer counted once", () => {
    const questions = [
      { answers: ["a", "a", "b", "c"], wanted: new Set(["a", "c"]) },
      { answers: ["x"], wanted: new Set(["y"]) },
    ];
    expect(recallAt([1, 4], questions)).toEqual({ 1: 0.25, 4: 0.5 });
    expect(hitsAt([1, 4], questions)).toEqual({ 1: 0.5, 4: 0.5 });
  });

  it("flag what lies below the highest threshold that costs no more recall than allowed", () => {
    const answerable = [0.2, 0.4, 0.6, 0.8].map((score) => ({ score, recall: 1 }));
    const scores = { answerable, unanswerable: [0.1, 0.3, 0.5, 0.9], foreign: [0.1] };
    expect(flaggedAt(1, scores)).toEqual({ threshold: 0.2, unanswerable: 0.25, foreign: 1 });
    expect(flaggedAt(25, scores)).toEqual({ threshold: 0.4, unanswerable: 0.5, foreign: 1 });
  });
});

async function all(messages: AsyncIterable<CorpusMessage>): Promise<CorpusMessage[]> {
  const found: CorpusMessage[] = [];
  for await (const message of messages) found.push(message);
  return found;
}

function fileWith(text: string): string {
  const file = join(tempDirectory(), "corpus.jsonl");
  writeFileSync(file, text);
  return file;
}
