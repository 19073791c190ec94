// The fact store: how much of a labelled set it finds with the reference's scoring and with ours, and its speed with 10,000 facts
// compared with bare tables in the same run.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HermesError } from "@hermes-memory/core/internal/lib";
import type { Settings } from "./holographic/fact-home.ts";
import { generateFacts } from "./holographic/generate.ts";
import { labelledFacts, labelledQuestions } from "./holographic/labelled.ts";
import { measureRecall, type RecallFigures } from "./holographic/recall.ts";
import { report } from "./holographic/report.ts";
import { drawQueries, measureSpeed } from "./holographic/speed.ts";
import { progress } from "./statistics.ts";

/** The settings to compare. The original passes the query to FTS5 unchanged; `structural` is the default. */
const SCORINGS: Readonly<Record<string, Settings>> = {
  reference_raw: { scoring: "reference", fts_query: "raw" },
  reference_safe: { scoring: "reference", fts_query: "safe" },
  structural: {},
};

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const size = wholeNumber("facts", flags.facts ?? "10000", 20);
  const count = wholeNumber("queries", flags.queries ?? "200", 1);
  const root = mkdtempSync(join(tmpdir(), "hermes-bench-"));
  try {
    const [facts, questions] = [labelledFacts(), labelledQuestions()];
    const recall: Record<string, RecallFigures> = {};
    for (const [name, settings] of Object.entries(SCORINGS)) {
      recall[name] = await measureRecall(join(root, `recall-${name}`), settings, facts, questions);
      progress(`${name}: recall ${JSON.stringify(recall[name].overall.recall)}`);
    }
    const generated = [...generateFacts(size, 1)];
    const queries = drawQueries(generated, count, 2);
    const structural = await measureSpeed(join(root, "structural"), {}, generated, queries);
    const reference = await measureSpeed(
      join(root, "reference"),
      { scoring: "reference" },
      generated,
      queries,
    );
    return report({ recall, facts: size, queries: count, structural, reference });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function wholeNumber(flag: string, text: string, least: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= least) return number;
  throw new HermesError("usage", `--${flag} takes a whole number from ${least} on, not '${text}'.`);
}
