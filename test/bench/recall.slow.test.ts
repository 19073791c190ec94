// The recall benchmark on a conversation made up here, where it is known what each question must find.
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recallAt } from "../../bench/recall/share.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
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
    expect({ code, stderr }).toEqual({ code: 0, stderr: "1 of 1 conversations, 2 questions\n" });
    expect(onlyLine(stdout)).toEqual({
      bench: "recall",
      questions: 2,
      session_recall: { 1: 1, 3: 1, 5: 1, 10: 1 },
      message_recall: { 5: 1, 10: 1, 20: 1 },
      ms: { p50: expect.any(Number), p95: expect.any(Number) },
    });
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("counts half of the evidence as half", async () => {
    const file = locomoFile([conversation([question("Who bought a loom?", ["D1:1", "D2:3"], 2)])]);
    const { stdout } = await runBench(["recall", file]);
    expect(onlyLine(stdout)).toMatchObject({ session_recall: { 1: 0.5, 10: 0.5 } });
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
    expect(onlyLine((await runBench(["recall", file])).stdout)).toMatchObject({ questions: 1 });
  });

  it("reads several turns from one string of evidence", async () => {
    const file = locomoFile([conversation([question("Who bought a loom?", ["D1:1; D2:1"], 1)])]);
    expect(onlyLine((await runBench(["recall", file])).stdout)).toMatchObject({
      session_recall: { 10: 0.5 },
    });
  });

  it("keeps conversations apart", async () => {
    // In one database, the twins of a message would take its place among the first five.
    const twins = Array.from({ length: 7 }, () =>
      conversation([question("Who bought a loom?", ["D1:1"], 1)]),
    );
    const { stdout } = await runBench(["recall", locomoFile(twins)]);
    expect(onlyLine(stdout)).toMatchObject({ questions: 7, message_recall: { 5: 1 } });
  });

  it.each([
    [[], "The recall benchmark takes one file."],
    [["no-such-file.json"], "Cannot read no-such-file.json"],
  ])("says what is wrong with %j", async (args, message) => {
    const { stdout, stderr, code } = await runBench(["recall", ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(message);
  });

  it("says what is wrong with a file of another kind, and with a time nobody understands", async () => {
    const file = join(tempDirectory(), "other.json");
    writeFileSync(file, '[{"qa": []}]');
    expect((await runBench(["recall", file])).stderr).toContain("is no LoCoMo file: 0.conversation");
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
