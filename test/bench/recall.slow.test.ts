// The recall benchmark on conversations made up here, where it is known what each question must find.
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { flaggedAt, hitsAt, recallAt } from "../../bench/recall/share.ts";
import { tempDirectory } from "../../packages/core/test/fakes/temp-directory.ts";
import { onlyLine, runBench } from "./run-bench.ts";

type Turn = readonly [speaker: string, text: string, caption?: string];

const MEETINGS: readonly (readonly Turn[])[] = [
  [
    ["Ines", "I bought a second-hand loom at the flea market."],
    ["Tarek", "Weaving suits you. Where will you put it?"],
    ["Ines", "Look at this!", "a red scarf on a wooden table"],
  ],
  [
    ["Tarek", "My bees swarmed on Sunday."],
    ["Ines", "Did you catch the swarm?"],
    ["Tarek", "Only with a ladder and my neighbour's help."],
  ],
];

describe("the recall benchmark", () => {
  it("prints one JSON line with the shares found, and leaves nothing behind", async () => {
    const file = locomoFile([
      conversation([
        question("Who bought a loom?", ["D1:1"], 1),
        question("What stood on the wooden table?", ["D1:3"], 4), // only the caption says so
      ]),
    ]);
    const { stdout, stderr, code, temporary } = await runBench(["recall", file]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "1 of 1 databases, 2 questions\n" });
    expect(onlyLine(stdout)).toEqual({
      bench: "recall",
      sets: [
        {
          set: "locomo",
          questions: 2,
          session_recall: { 1: 1, 3: 1, 5: 1, 10: 1 },
          session_hit: { 1: 1, 3: 1, 5: 1, 10: 1 },
          message_recall: { 5: 1, 10: 1, 20: 1 },
          confidence: expect.objectContaining({ questions: { unanswerable: 0, foreign: 0 } }),
          ms: { p50: expect.any(Number), p95: expect.any(Number) },
        },
      ],
    });
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("counts half of the evidence as half", async () => {
    const file = locomoFile([conversation([question("Who bought a loom?", ["D1:1", "D2:3"], 2)])]);
    const { stdout } = await runBench(["recall", file]);
    expect(onlyLine(stdout)).toMatchObject({
      sets: [{ session_recall: { 1: 0.5, 10: 0.5 }, session_hit: { 1: 1 } }],
    });
  });

  it("reads LongMemEval, zipped and a line for each question, after LoCoMo", async () => {
    const locomo = locomoFile([conversation([question("Who bought a loom?", ["D1:1"], 1)])]);
    const { stdout } = await runBench(["recall", locomo, longMemEvalFile()]);
    expect(onlyLine(stdout)).toMatchObject({
      sets: [
        { set: "locomo" },
        {
          set: "longmemeval",
          questions: 1,
          session_recall: { 1: 1 },
          message_recall: { 5: 1 },
          confidence: { questions: { unanswerable: 1, foreign: 2 } },
        },
      ],
    });
  });

  it("flags what was not answered: questions without an answer, and those of other conversations", async () => {
    const asked = question("Who bought a loom?", ["D1:1"], 1);
    const other = { ...conversation([question("Which submarine did Olga paint?", ["D1:1"], 1)]) };
    const file = locomoFile([
      conversation([asked, question("Which zeppelin did Ines repair in Norway?", ["D1:1"], 5)]),
      other,
    ]);
    const { sets } = onlyLine((await runBench(["recall", file])).stdout) as {
      sets: { confidence: Record<string, unknown> }[];
    };
    // The loom is found in both, the submarine and the zeppelin in none.
    expect(sets[0]?.confidence).toMatchObject({
      questions: { unanswerable: 1, foreign: 2 },
      flagged_by_default: { unanswerable: 1, foreign: 0.5 },
    });
  });

  it("pads the databases on request, and finds the same in them", async () => {
    const file = locomoFile([conversation([question("Who bought a loom?", ["D1:1"], 1)])]);
    const { stdout } = await runBench(["recall", file, "--padding", "1200"]);
    expect(onlyLine(stdout)).toMatchObject({ padding: 1200, sets: [{ message_recall: { 5: 1 } }] });
  });

  it("leaves out questions without an answer and evidence that names no turn", async () => {
    const file = locomoFile([
      conversation([
        question("Who bought a loom?", ["D1:1"], 1),
        question("Who sold a submarine?", ["D1:1"], 5),
        question("Who caught the swarm?", ["D"], 3),
        question("Who sailed?", ["D9:9"], 3),
        question("Who sang?", [], 3),
      ]),
    ]);
    expect(onlyLine((await runBench(["recall", file])).stdout)).toMatchObject({ sets: [{ questions: 1 }] });
  });

  it("reads several turns from one string of evidence", async () => {
    const file = locomoFile([conversation([question("Who bought a loom?", ["D1:1; D2:1"], 1)])]);
    expect(onlyLine((await runBench(["recall", file])).stdout)).toMatchObject({
      sets: [{ session_recall: { 10: 0.5 } }],
    });
  });

  it("keeps conversations apart", async () => {
    // In one database, the twins of a message would take its place among the first five.
    const twins = Array.from({ length: 7 }, () =>
      conversation([question("Who bought a loom?", ["D1:1"], 1)]),
    );
    const { stdout } = await runBench(["recall", locomoFile(twins)]);
    expect(onlyLine(stdout)).toMatchObject({ sets: [{ questions: 7, message_recall: { 5: 1 } }] });
  });

  it.each([
    [[], "The recall benchmark takes one or more files."],
    [["no-such-file.json"], "Cannot read no-such-file.json"],
    [["some.json", "--padding", "many"], "--padding takes a number of messages"],
  ])("says what is wrong with %j", async (args, message) => {
    const { stdout, stderr, code } = await runBench(["recall", ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(message);
  });

  it("says what is wrong with a file of another kind, and with a time nobody understands", async () => {
    const file = join(tempDirectory(), "other.json");
    writeFileSync(file, '[{"qa": []}]');
    expect((await runBench(["recall", file])).stderr).toContain("is no LoCoMo file: 0.conversation");
    writeFileSync(file, '[{"haystack_sessions": []}]');
    expect((await runBench(["recall", file])).stderr).toContain("is no LongMemEval file: 0.question_id");
    writeFileSync(file, '[{"questions": []}]');
    expect((await runBench(["recall", file])).stderr).toContain("neither a LoCoMo nor a LongMemEval file");
    const { conversation: talk, qa } = conversation([question("Who bought a loom?", ["D1:1"], 1)]);
    const dateless = locomoFile([{ conversation: { ...talk, session_2_date_time: "soon" }, qa }]);
    expect((await runBench(["recall", dateless])).stderr).toContain(
      "session_2 of a conversation has no time",
    );
  });
});

describe("recall at k", () => {
  it("is the share of what is wanted among the first k answers, as a mean over the questions", () => {
    const questions = [
      { answers: ["a", "b", "c"], wanted: new Set(["a", "c"]) },
      { answers: ["x"], wanted: new Set(["y"]) },
    ];
    expect(recallAt([1, 3], questions)).toEqual({ 1: 0.25, 3: 0.5 });
  });

  it("counts an answer that comes twice once", () => {
    const twice = { answers: ["a", "a", "b"], wanted: new Set(["a", "b"]) };
    expect(recallAt([2, 3], [twice])).toEqual({ 2: 0.5, 3: 1 });
  });
});

describe("hits at k", () => {
  it("are the questions for which one of the wanted is among the first k", () => {
    const questions = [
      { answers: ["a", "b"], wanted: new Set(["b", "c"]) },
      { answers: ["x"], wanted: new Set(["y"]) },
    ];
    expect(hitsAt([1, 2], questions)).toEqual({ 1: 0, 2: 0.5 });
  });
});

describe("what a threshold of confidence flags", () => {
  const answerable = [0.2, 0.4, 0.6, 0.8].map((score) => ({ score, recall: 1 }));

  it("is what lies below the highest one that costs no more recall than allowed", () => {
    const scores = { answerable, unanswerable: [0.1, 0.3, 0.5, 0.9], foreign: [0.1] };
    expect(flaggedAt(1, scores)).toEqual({ threshold: 0.2, unanswerable: 0.25, foreign: 1 });
    expect(flaggedAt(25, scores)).toEqual({ threshold: 0.4, unanswerable: 0.5, foreign: 1 });
  });

  it("an answer that found nothing costs nothing", () => {
    const scores = {
      answerable: [{ score: 0.1, recall: 0 }, ...answerable],
      unanswerable: [0.15],
      foreign: [],
    };
    expect(flaggedAt(1, scores)).toEqual({ threshold: 0.2, unanswerable: 1, foreign: null });
  });
});

function conversation(qa: readonly object[]) {
  const meetings = MEETINGS.flatMap((turns, at) => [
    [`session_${at + 1}_date_time`, `${at + 1}:05 pm on ${at + 3} March, 2024`],
    [
      `session_${at + 1}`,
      turns.map(([speaker, text, caption], place) => ({
        speaker,
        dia_id: `D${at + 1}:${place + 1}`,
        text,
        ...(caption === undefined ? {} : { blip_caption: caption }),
      })),
    ],
  ]);
  const people = { speaker_a: "Ines", speaker_b: "Tarek", session_3_date_time: "1:00 am on 9 March, 2024" };
  return { conversation: { ...people, ...Object.fromEntries(meetings) }, qa };
}

function question(text: string, evidence: readonly string[], category: number): object {
  return { question: text, answer: "", evidence, category };
}

function locomoFile(samples: readonly object[]): string {
  const file = join(tempDirectory(), "conversations.json");
  writeFileSync(file, JSON.stringify(samples));
  return file;
}

function longMemEvalFile(): string {
  const sample = {
    question: "What colour is my new bicycle?",
    answer_session_ids: ["s2"],
    haystack_dates: ["2023/03/08 (Wed) 00:19", "2023/03/09 (Thu) 10:05"],
    haystack_session_ids: ["s1", "s2"],
    haystack_sessions: [
      [
        { role: "user", content: "How do I bake bread?" },
        { role: "assistant", content: "With flour, water and time." },
      ],
      [
        { role: "user", content: "My new bicycle is green, how do I clean it?", has_answer: true },
        { role: "assistant", content: "With a sponge.", has_answer: false },
      ],
    ],
  };
  const samples = [
    { ...sample, question_id: "q1" },
    { ...sample, question_id: "q2_abs", question: "What colour is my new piano?" },
  ];
  const file = join(tempDirectory(), "questions.jsonl.gz");
  writeFileSync(file, gzipSync(samples.map((each) => JSON.stringify(each)).join("\n")));
  return file;
}
