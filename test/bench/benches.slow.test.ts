// The benchmarks as they are run: real processes on little data. How long anything takes is not looked at.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import type { RecallFigures } from "../../bench/holographic/recall.ts";
import { structuralFindsMost } from "../../bench/holographic/report.ts";
import { tempDirectory } from "../../packages/core/test/fakes/temp-directory.ts";
import { onlyLine, runBench } from "./run-bench.ts";

const A_WHILE = 180_000;

/** A conversation of LoCoMo with one question. */
function locomoFile(): string {
  const turn = (id: string, speaker: string, text: string) => ({ speaker, dia_id: id, text });
  const conversation = {
    ...{ speaker_a: "Ines", speaker_b: "Tarek", session_1_date_time: "1:05 pm on 3 March, 2024" },
    session_1: [
      turn("D1:1", "Ines", "I bought a second-hand loom at the flea market."),
      turn("D1:2", "Tarek", "Weaving suits you. Where will you put it?"),
    ],
  };
  const qa = [{ question: "Who bought a loom?", answer: "", evidence: ["D1:1"], category: 1 }];
  const file = join(tempDirectory(), "conversations.json");
  writeFileSync(file, JSON.stringify([{ conversation, qa }]));
  return file;
}

describe("a benchmark", () => {
  it.each([
    ["context", ["--messages", "200", "--rounds", "1", "--sample-ms", "1"], { messages: [200, 2000] }],
    ["store", ["--messages", "300"], { messages: 300 }],
    ["search", ["--messages", "400", "--long-session", "300"], { messages: 400, meets: { complete: true } }],
    ["recall", ["LOCOMO"], { sets: [{ set: "locomo", questions: 1, session_recall: { 1: 1 } }] }],
  ])(
    "%s prints its figures as one line of JSON, and leaves nothing behind",
    async (name, args, figures) => {
      const { stdout, code, temporary } = await runBench([
        name,
        ...args.map((word) => (word === "LOCOMO" ? locomoFile() : word)),
      ]);
      expect(code).toBe(0);
      expect(onlyLine(stdout)).toMatchObject({ bench: name, ...figures });
      expect(readdirSync(temporary)).toEqual([]);
    },
    A_WHILE,
  );

  it.each([
    [["context", "--messages=many"], "--messages takes a whole number above 0, not 'many'."],
    [["store", "--messages", "0"], "--messages takes a whole number above 0, not '0'."],
    [["store", "--corpus"], "--corpus needs at least one file."],
    [["holographic", "--facts", "many"], "--facts takes a whole number from 20 on, not 'many'."],
    [["search", "--long-session", "9"], "--long-session takes a whole number, at least 300."],
    [["recall"], "The recall benchmark takes one or more files."],
    [["recall", "no-such-file.json"], "Cannot read no-such-file.json"],
  ])("refuses %j with the reason", async (args, message) => {
    const { stdout, stderr, code } = await runBench(args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(message);
  });

  it(
    "of the fact store finds more with the structural scoring than with the reference's",
    async () => {
      const { stdout } = await runBench(["holographic", "--facts", "120", "--queries", "5"]);
      const { recall, meets } = onlyLine(stdout) as {
        readonly recall: Readonly<Record<string, RecallFigures>>;
        readonly meets: object;
      };
      expect(structuralFindsMost(recall), JSON.stringify(recall)).toBe(true);
      expect(meets).toMatchObject({ recall: true });
      expect(recall.structural?.before_a_turn.recall["5"]).toBeGreaterThan(0.5);
    },
    A_WHILE,
  );

  it("keeps the database that --db names, and replaces none", async () => {
    const path = join(tempDirectory(), "new", "kept.db");
    const args = ["store", "--messages", "300", "--db", path];
    expect((await runBench(args)).code).toBe(0);
    {
      await using store = await openSessionStore({ path });
      expect(await store.messageCount()).toBe(300);
    }
    const refused = await runBench(args);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("exists already") });
  });

  it("names file and line of what is no message, before it makes a database", async () => {
    const folder = tempDirectory();
    const [corpus, path] = [join(folder, "bad.jsonl"), join(folder, "kept.db")];
    writeFileSync(corpus, '{"s":"a","role":"user","content":"x","ts":1}\n{"s":"a","role":"user"}\n');
    const { stderr } = await runBench(["store", "--corpus", corpus, "--db", path]);
    expect(stderr).toContain(`${corpus}:2 is not a message`);
    expect(existsSync(path)).toBe(false);
  });
});
