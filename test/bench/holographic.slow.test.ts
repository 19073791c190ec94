// The labelled set is what it says it is, and the benchmark runs on it. How long anything takes is not looked at.
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { generateFacts } from "../../bench/holographic/generate.ts";
import { labelledFacts, labelledQuestions } from "../../bench/holographic/labelled.ts";
import { ORGANISATIONS, PEOPLE, PROJECTS } from "../../bench/holographic/names.ts";
import { addRates } from "../../bench/holographic/rates.ts";
import { measureRecall, type RecallFigures } from "../../bench/holographic/recall.ts";
import { structuralFindsMost } from "../../bench/holographic/report.ts";
import { tempDirectory } from "../../packages/core/test/fakes/temp-directory.ts";
import { onlyLine, runBench } from "./run-bench.ts";

const facts = labelledFacts();
const questions = labelledQuestions();
const A_MINUTE = 60_000;

const NUMBER = expect.any(Number);
const MILLISECONDS = { p50_ms: NUMBER, p95_ms: NUMBER };
const RATES = { per_s: NUMBER, first_per_s: NUMBER, last_per_s: NUMBER, per_cpu_s: NUMBER, ...MILLISECONDS };
const QUERIES = [
  ...["search_rare", "search_common", "search_sentence", "before_a_turn"],
  ...["probe", "probe_category", "related", "reason", "contradict", "list"],
];
const TIMES = { ...MILLISECONDS, max_ms: NUMBER, cpu_ms: NUMBER, answered: NUMBER };
const SPEED = {
  adds: { ...RATES, of_floor: NUMBER, floor: { full: RATES, normal: RATES } },
  queries: Object.fromEntries(QUERIES.map((kind) => [kind, TIMES])),
  first_ms: { open: NUMBER, ...Object.fromEntries(QUERIES.map((kind) => [kind, NUMBER])) },
  rss_mb: { before: NUMBER, filled: NUMBER, asked: NUMBER },
  db_mb: NUMBER,
};
const SCORES = { questions: 100, recall: { 1: NUMBER, 5: NUMBER }, mrr: NUMBER };

describe("the labelled set", () => {
  it("has 200 facts, each id and each text once", () => {
    expect(facts).toHaveLength(200);
    expect(new Set(facts.map(({ id }) => id)).size).toBe(200);
    expect(new Set(facts.map(({ content }) => content.trim().toLowerCase())).size).toBe(200);
  });

  it("has facts of all four categories, with tags", () => {
    const byCategory = Map.groupBy(facts, ({ category }) => category);
    expect([...byCategory.keys()].sort()).toEqual(["general", "project", "tool", "user_pref"]);
    for (const [category, each] of byCategory) expect(each.length, category).toBeGreaterThanOrEqual(20);
    expect(facts.filter(({ tags }) => !/^[a-z]+([-,][a-z]+)*$/.test(tags))).toEqual([]);
  });

  it("has 100 questions: 60 plain, 20 about one name, 15 about two, 5 contradictions", () => {
    expect(new Set(questions.map(({ id }) => id)).size).toBe(100);
    expect(new Set(questions.map(({ question }) => question.toLowerCase())).size).toBe(100);
    const counts = Map.groupBy(questions, ({ kind }) => kind);
    expect(Object.fromEntries([...counts].map(([kind, each]) => [kind, each.length]))).toEqual({
      plain: 60,
      probe: 20,
      reason: 15,
      contradiction: 5,
    });
  });

  it("names one to four facts for each question, all of them there and none twice", () => {
    const ids = new Set(facts.map(({ id }) => id));
    for (const { id, kind, relevant, entities } of questions) {
      expect(relevant.length, id).toBeGreaterThanOrEqual(1);
      expect(relevant.length, id).toBeLessThanOrEqual(4);
      expect(new Set(relevant).size, id).toBe(relevant.length);
      expect(
        relevant.filter((each) => !ids.has(each)),
        id,
      ).toEqual([]);
      expect(entities?.length, id).toBe(kind === "probe" ? 1 : kind === "reason" ? 2 : undefined);
      if (kind === "contradiction") expect(relevant, id).toHaveLength(2);
    }
  });

  it("leaves out no fact that mentions what a question by name asks for", () => {
    for (const { id, entities, relevant } of questions.filter(({ entities }) => entities)) {
      const mentioning = facts.filter(({ content }) => entities?.every((name) => content.includes(name)));
      expect(relevant, id).toEqual(mentioning.map((fact) => fact.id));
    }
  });

  it("has no question that repeats its fact", () => {
    const words = (text: string) => new Set(text.toLowerCase().match(/\p{L}+/gu) ?? []);
    for (const { question, relevant } of questions)
      for (const fact of facts.filter(({ id }) => relevant.includes(id)))
        expect(
          [...words(fact.content)].filter((word) => !words(question).has(word)).length,
          question,
        ).toBeGreaterThan(0);
  });
});

describe("the generated facts", () => {
  it("differ from each other, come from the seed alone, and name a pool of 500 in four categories", () => {
    const generated = [...generateFacts(10_000, 1)];
    expect(new Set(generated.map(({ content }) => content)).size).toBe(10_000);
    expect([...generateFacts(50, 1)]).toEqual(generated.slice(0, 50));
    expect([...generateFacts(50, 2)]).not.toEqual(generated.slice(0, 50));
    const pool = new Set([...PEOPLE, ...PROJECTS, ...ORGANISATIONS]);
    expect(pool.size).toBe(500);
    const used = new Set(generated.flatMap(({ names }) => names));
    expect([...used].filter((name) => !pool.has(name))).toEqual([]);
    expect(used.size).toBeGreaterThan(490);
    expect(new Set(generated.map(({ category }) => category)).size).toBe(4);
  });
});

describe("the holographic benchmark", () => {
  it(
    "finds more with the structural scoring than with the reference's, prints all figures and leaves nothing behind",
    async () => {
      const args = ["--facts", "120", "--queries", "5"];
      const { stdout, code, temporary } = await runBench(["holographic", ...args]);
      expect(code).toBe(0);
      const figures = onlyLine(stdout);
      const scoring = { overall: SCORES, as_sentences: SCORES, before_a_turn: SCORES };
      expect(figures).toMatchObject({
        bench: "holographic",
        facts: 120,
        queries: 5,
        recall: { reference_raw: scoring, reference_safe: scoring, structural: scoring },
        structural: SPEED,
        reference: SPEED,
        meets: { adds: expect.any(Boolean), queries: expect.any(Boolean) },
      });
      expect(readdirSync(temporary)).toEqual([]);

      const recall = figures.recall as Readonly<Record<string, RecallFigures>>;
      expect(structuralFindsMost(recall), JSON.stringify(recall)).toBe(true);
      expect(figures.meets).toMatchObject({ recall: true });
      expect(recall.structural?.overall.mrr).toBeGreaterThan(recall.reference_safe?.overall.mrr ?? 1);
      expect(recall.structural?.before_a_turn.recall["5"]).toBeGreaterThan(0.5);
    },
    A_MINUTE,
  );

  it("counts what is found and what is not", async () => {
    const twoFacts = [
      { id: "a", category: "general", tags: "", content: "Ines Moreau repairs clocks" },
      { id: "b", category: "general", tags: "", content: "Tarek Berg keeps bees" },
    ];
    const by = (id: string, relevant: string) => ({
      id,
      question: "Who repairs clocks?",
      relevant: [relevant],
    });
    const { by_kind, as_sentences, before_a_turn } = await measureRecall(tempDirectory(), {}, twoFacts, [
      { ...by("1", "a"), kind: "plain" },
      { ...by("2", "b"), kind: "plain" },
      { ...by("3", "b"), kind: "probe", entities: ["Tarek Berg"] },
      { ...by("4", "a"), kind: "reason", entities: ["Tarek Berg", "Ines Moreau"] },
    ]);
    expect(by_kind.plain).toEqual({ questions: 2, recall: { 1: 0.5, 5: 0.5 }, mrr: 0.5 });
    expect(by_kind.probe).toEqual({ questions: 1, recall: { 1: 1, 5: 1 }, mrr: 1 });
    expect(as_sentences).toEqual({ questions: 4, recall: { 1: 0.5, 5: 0.5 }, mrr: 0.5 });
    expect(before_a_turn).toEqual(as_sentences);
  });

  it("does not call the structural scoring better where one kind is only as good", () => {
    const figures = (plain: number, probe: number) => {
      const scores = (at5: number) => ({ questions: 1, recall: { 1: 0, 5: at5 }, mrr: 0 });
      const all = scores((plain + probe) / 2);
      const by_kind = { plain: scores(plain), probe: scores(probe) };
      return { overall: all, by_kind, as_sentences: all, before_a_turn: all, pairs_reported: 0 };
    };
    expect(structuralFindsMost({ other: figures(0.5, 0), structural: figures(0.6, 1) })).toBe(true);
    expect(structuralFindsMost({ other: figures(0.5, 0), structural: figures(0.5, 1) })).toBe(false);
  });

  it("says what is wrong with a size it cannot use", async () => {
    const { stdout, stderr, code } = await runBench(["holographic", "--facts", "many"]);
    expect({ stdout, code }).toEqual({ stdout: "", code: 1 });
    expect(stderr).toBe("--facts takes a whole number from 20 on, not 'many'.\n");
  });
});

describe("the rates of adding", () => {
  it("tell the beginning and the end from the whole", () => {
    const times = [...Array(50).fill(1), ...Array(50).fill(4)] as number[];
    expect(addRates(times, 50)).toEqual({
      per_s: 400,
      first_per_s: 1000,
      last_per_s: 250,
      per_cpu_s: 2000,
      p50_ms: 4,
      p95_ms: 4,
    });
  });
});
