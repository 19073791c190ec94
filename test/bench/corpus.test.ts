// The corpus of the store benchmark: figures are only worth comparing when it stays what it says it is.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { codePointLength } from "@hermes-memory/core/internal/lib";
import { describe, expect, it } from "vitest";
import { type CorpusMessage, generateCorpus, readCorpus, sourceOf } from "../../bench/corpus/index.ts";
import { tempDirectory } from "../../packages/core/test/fakes/temp-directory.ts";

const corpus = [...generateCorpus({ messages: 20_000, seed: 1 })];

describe("the generated corpus", () => {
  it("has as many messages as asked for", () => {
    expect(corpus).toHaveLength(20_000);
    expect([...generateCorpus({ messages: 1, seed: 1 })]).toHaveLength(1);
  });

  it("is decided by the seed alone, and a shorter one is the beginning of a longer one", () => {
    expect([...generateCorpus({ messages: 500, seed: 1 })]).toEqual(corpus.slice(0, 500));
    expect([...generateCorpus({ messages: 500, seed: 2 })]).not.toEqual(corpus.slice(0, 500));
  });

  it("has 533 characters in a message on average", () => {
    const total = corpus.reduce((sum, message) => sum + codePointLength(textOf(message)), 0);
    expect(total / corpus.length).toBeGreaterThan(520);
    expect(total / corpus.length).toBeLessThan(546);
  });

  it("is Chinese in every tenth message", () => {
    const chinese = corpus.filter((message) => /\p{Script=Han}/u.test(textOf(message)));
    expect(chinese.length / corpus.length).toBeGreaterThan(0.09);
    expect(chinese.length / corpus.length).toBeLessThan(0.11);
  });

  it("has sessions of 5 to 200 messages, each in one piece", () => {
    const sizes = new Map<string, number>();
    let previous = "";
    for (const { s } of corpus) {
      if (s !== previous) expect(sizes.has(s)).toBe(false);
      sizes.set(s, (sizes.get(s) ?? 0) + 1);
      previous = s;
    }
    sizes.delete(previous); // the last one is cut where the corpus ends
    expect(Math.min(...sizes.values())).toBeGreaterThanOrEqual(5);
    expect(Math.max(...sizes.values())).toBeLessThanOrEqual(200);
    expect(sizes.size).toBeGreaterThan(100);
  });

  it("goes forward in time with every message", () => {
    expect(corpus.every(({ ts }, i) => i === 0 || ts > (corpus[i - 1]?.ts ?? 0))).toBe(true);
  });

  it("answers every tool call with a result of the same id and name, in the order of the calls", () => {
    let open: string[] = [];
    let answered = 0;
    for (const [i, message] of corpus.entries()) {
      if (message.s !== corpus[i - 1]?.s) open = [];
      if (message.role === "tool") {
        expect(`${message.tool_call_id} ${message.tool_name}`).toBe(open.shift());
        answered += 1;
      } else {
        expect(open).toEqual([]);
        open = callsOf(message).map((call) => `${call.id} ${call.function.name}`);
      }
    }
    expect(answered).toBeGreaterThan(1000);
  });

  it("uses a few words often and many words seldom", () => {
    const counts = new Map<string, number>();
    for (const message of corpus)
      for (const word of textOf(message)
        .toLowerCase()
        .match(/[a-z]+/g) ?? [])
        counts.set(word, (counts.get(word) ?? 0) + 1);
    const sorted = [...counts.values()].sort((a, b) => b - a);
    const total = sorted.reduce((sum, count) => sum + count, 0);
    const share = sorted.slice(0, 100).reduce((sum, count) => sum + count, 0) / total;
    expect(counts.size).toBeGreaterThan(5000);
    expect(share).toBeGreaterThan(0.3);
    expect(share).toBeLessThan(0.7);
  });

  it("comes from several sources, and a session always from the same", () => {
    const sources = new Set(corpus.map(({ s }) => sourceOf(s)));
    expect([...sources]).toEqual(expect.arrayContaining(["cli", "cron", "discord", "subagent", "telegram"]));
    expect(sourceOf("cron_ab12_20250106_000000")).toBe("cron");
  });
});

describe("reading a corpus", () => {
  it("gives back what was written, over several files, without blank lines", async () => {
    const directory = tempDirectory();
    const files = [join(directory, "a.jsonl"), join(directory, "b.jsonl")];
    const lines = corpus.slice(0, 40).map((message) => JSON.stringify(message));
    writeFileSync(join(directory, "a.jsonl"), `${lines.slice(0, 25).join("\n")}\n\n  \n`);
    writeFileSync(join(directory, "b.jsonl"), lines.slice(25).join("\r\n"));
    expect(await all(readCorpus(files))).toEqual(corpus.slice(0, 40));
  });

  it("takes null for what is absent, and content of any form", async () => {
    const parts = [{ type: "text", text: "look" }];
    const file = fileWith(
      '{"s":"x","role":"assistant","content":null,"ts":1,"tool_calls":null,"tool_name":null}\n' +
        `${JSON.stringify({ s: "x", role: "user", content: parts, ts: 2.5 })}\n`,
    );
    expect(await all(readCorpus([file]))).toMatchObject([{ content: null }, { content: parts, ts: 2.5 }]);
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

  it("says which file is not there", async () => {
    const file = join(tempDirectory(), "nowhere.jsonl");
    await expect(all(readCorpus([file]))).rejects.toMatchObject({
      code: "unreadable-corpus",
      message: expect.stringContaining(file),
    });
  });
});

function textOf(message: CorpusMessage): string {
  return typeof message.content === "string" ? message.content : "";
}

function callsOf(message: CorpusMessage): { id: string; function: { name: string } }[] {
  return (message.tool_calls ?? []) as { id: string; function: { name: string } }[];
}

function fileWith(text: string): string {
  const file = join(tempDirectory(), "corpus.jsonl");
  writeFileSync(file, text);
  return file;
}

async function all(messages: AsyncIterable<CorpusMessage>): Promise<CorpusMessage[]> {
  const found: CorpusMessage[] = [];
  for await (const message of messages) found.push(message);
  return found;
}
