// The Python original's algebra, entities, tool answers and tables, with the settings that promise them.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { readVectors } from "../../../core/test/golden/vectors.ts";
import {
  atomLevels,
  bind,
  bundle,
  Encoder,
  similarity,
  TAU,
  unbind,
} from "../../src/holographic/phase-vectors.ts";
import { createHolographicProvider } from "../../src/holographic/provider.ts";
import { ageFactor } from "../../src/holographic/search.ts";
import { referenceMentions } from "../../src/holographic/words-and-names.ts";

type Expr =
  | ["atom" | "text", string]
  | ["fact", string, string[]]
  | ["bind" | "unbind", Expr, Expr]
  | ["bundle", ...Expr[]];
type Row = { fact_id: number; score?: number; fts_rank?: number; [key: string]: unknown };
type Answer = Record<string, unknown> & { results?: Row[]; facts?: Row[] };
type Call = { tool: string; args: Record<string, unknown>; result: Answer; close_scores?: boolean };
type Tables = {
  facts: unknown[][];
  entities: unknown[][];
  links: unknown[][];
  banks: [string, number, number, number[]][];
  vector_first4: Record<string, number[]>;
};
type Case = { id: string; title?: string } & (
  | { kind: "atom_uint16"; word: string; dim: number; first8: number[]; last2: number[] }
  | { kind: "vector"; expr: Expr; dim: number; length: number; first8: number[]; last2: number[] }
  | { kind: "similarity"; a: Expr; b: Expr; dim: number; value: number }
  | { kind: "entities"; text: string; entities: string[] }
  | {
      kind: "tools";
      config: Record<string, unknown>;
      calls: Call[];
      tables: Tables;
      prefetch: { query: string; output: string }[] | null;
    }
  | {
      kind: "auto_extract";
      auto_extract: boolean;
      messages: { role: string; content: string }[];
      facts: [string, string][];
    }
  | { kind: "mirror"; writes: ["add", "memory", string][]; facts: [string, string][] }
  | { kind: "decay"; age_days: number; half_life: number; factor: number }
);
type Of<K extends Case["kind"]> = Extract<Case, { kind: K }>;

const DIGITS = 1e-6;
const cases = readVectors<Case>("holographic.jsonl");

function of<K extends Case["kind"]>(kind: K): [string, Of<K>][] {
  const wanted = cases?.filter((each): each is Of<K> => each.kind === kind) ?? [];
  return wanted.map((each) => [`${each.id} ${each.title ?? ""}`, each]);
}

describe.skipIf(!cases)("holographic memory computes as the original does", () => {
  it.each(of("atom_uint16"))("atom %s", (_, { word, dim, first8, last2 }) => {
    const levels = [...atomLevels(word, dim)];
    expect([levels.slice(0, 8), levels.slice(-2)]).toEqual([first8, last2]);
  });

  it.each(of("vector"))("vector %s", (_, { expr, dim, length, first8, last2 }) => {
    const vector = evaluate(expr, new Encoder(dim));
    expect(vector.length).toBe(length);
    expectAngles([...vector.slice(0, 8), ...vector.slice(-2)], [...first8, ...last2]);
  });

  it.each(of("similarity"))("similarity %s", (_, { a, b, dim, value }) => {
    const encoder = new Encoder(dim);
    expect(Math.abs(similarity(evaluate(a, encoder), evaluate(b, encoder)) - value)).toBeLessThan(DIGITS);
  });

  it.each(of("entities"))("entities %s", (_, { text, entities }) => {
    expect(referenceMentions(text).names).toEqual(entities);
  });

  it.each(of("decay"))("decay %s", (_, { age_days, half_life, factor }) => {
    const now = new Date("2026-03-01T12:00:00Z");
    const then = new Date(now.getTime() - age_days * 86_400_000).toISOString().slice(0, 19).replace("T", " ");
    expect(Math.abs(ageFactor(then, half_life, now) - factor)).toBeLessThan(1e-3);
  });
});

describe.skipIf(!cases)("holographic memory answers as the original does", () => {
  it.each(of("tools"))("tools %s", async (_, { config, calls, tables, prefetch }) => {
    const { provider, path } = await open(config);
    for (const { tool, args, result, close_scores } of calls) {
      const answer = JSON.parse((await provider.handleToolCall?.(tool, args, {})) ?? "") as Answer;
      expectAnswer(answer, result, close_scores ?? false);
    }
    for (const { query, output } of prefetch ?? [])
      expect(await provider.prefetch?.(query, { session_id: "s" })).toBe(output);
    expectTables(path, tables);
  });

  it.each(of("auto_extract"))("auto-extract %s", async (_, { auto_extract, messages, facts }) => {
    const { provider, path } = await open({ auto_extract });
    await provider.onSessionEnd?.(messages, {});
    expect(contents(path)).toEqual(facts);
  });

  it.each(of("mirror"))("mirror %s", async (_, { writes, facts }) => {
    const { provider, path } = await open({});
    for (const [action, target, content] of writes)
      await provider.onMemoryWrite?.(action, target, content, {});
    expect(contents(path)).toEqual(facts);
  });
});

function evaluate(expr: Expr, encoder: Encoder): Float64Array {
  switch (expr[0]) {
    case "atom":
      return encoder.atom(expr[1]);
    case "text":
      return encoder.text(expr[1]);
    case "fact":
      return encoder.fact(expr[1], expr[2]);
    case "bind":
      return bind(evaluate(expr[1], encoder), evaluate(expr[2], encoder));
    case "unbind":
      return unbind(evaluate(expr[1], encoder), evaluate(expr[2], encoder));
    case "bundle": {
      const [, ...parts] = expr;
      return bundle(parts.map((part) => evaluate(part, encoder)));
    }
    default:
      return expr satisfies never;
  }
}

async function open(config: Record<string, unknown>) {
  const home = tempDirectory();
  mkdirSync(home, { recursive: true });
  const section = { ...config, scoring: "reference", fts_query: "raw" };
  writeFileSync(join(home, "config.yaml"), JSON.stringify({ plugins: { "hermes-memory-store": section } }));
  const provider = createHolographicProvider();
  await provider.initialize("s", { hermes_home: home });
  onTestFinished(async () => provider.shutdown?.({}));
  return { provider, path: join(home, "memory_store.db") };
}

/** Angles that are almost a full turn apart are almost the same. */
function expectAngles(found: readonly number[], wanted: readonly number[]): void {
  expect(found).toHaveLength(wanted.length);
  for (const [i, angle] of wanted.entries()) {
    const apart = Math.abs((found[i] ?? 0) - angle) % TAU;
    expect(Math.min(apart, TAU - apart)).toBeLessThan(DIGITS);
  }
}

function expectAnswer(found: Answer, wanted: Answer, mayScoresSwap: boolean): void {
  const rows = found.results ?? found.facts;
  const wantedRows = wanted.results ?? wanted.facts;
  if (rows === undefined || wantedRows === undefined) {
    expect(found).toEqual(nearly(wanted));
    return;
  }
  expect(found.count).toBe(wanted.count);
  const order = (list: Row[]) => (mayScoresSwap ? [...list].sort(byRoundedScore) : list);
  expect(order(rows).map(({ created_at, updated_at, ...rest }) => rest)).toEqual(
    order(wantedRows).map(nearly),
  );
}

function byRoundedScore(one: Row, other: Row): number {
  const tolerance = 5e-6;
  const difference = (other.score ?? 0) - (one.score ?? 0);
  return Math.abs(difference) < tolerance ? one.fact_id - other.fact_id : difference;
}

/** Numbers of the vectors have six digits. */
function nearly(row: object): object {
  const entries = Object.entries(row);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === "number" ? expect.closeTo(value, 5.5) : value]),
  );
}

function expectTables(path: string, tables: Tables): void {
  using db = new DatabaseSync(path, { readOnly: true });
  const all = (sql: string) =>
    db
      .prepare(sql)
      .all()
      .map((row) => Object.values(row));
  const facts = all(
    "SELECT fact_id, content, category, tags, round(trust_score, 6), retrieval_count, helpful_count FROM facts ORDER BY fact_id",
  );
  expect(facts).toEqual(tables.facts);
  expect(all("SELECT entity_id, name FROM entities ORDER BY entity_id")).toEqual(tables.entities);
  expect(all("SELECT fact_id, entity_id FROM fact_entities ORDER BY fact_id, entity_id")).toEqual(
    tables.links,
  );
  const banks = all("SELECT bank_name, dim, fact_count, vector FROM memory_banks ORDER BY bank_name");
  expect(banks.map((bank) => bank.slice(0, 3))).toEqual(tables.banks.map((bank) => bank.slice(0, 3)));
  for (const [i, [, , , first4]] of tables.banks.entries()) expectAngles(firstFour(banks[i]?.[3]), first4);
  for (const [id, first4] of Object.entries(tables.vector_first4)) {
    const row = db.prepare("SELECT hrr_vector FROM facts WHERE fact_id = ?").get(Number(id));
    expectAngles(firstFour(row?.hrr_vector), first4);
  }
}

function firstFour(bytes: unknown): number[] {
  if (!(bytes instanceof Uint8Array)) return [];
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return [0, 8, 16, 24].map((at) => view.getFloat64(at, true));
}

function contents(path: string): unknown[][] {
  using db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare("SELECT content, category FROM facts ORDER BY fact_id").all();
  return rows.map((row) => Object.values(row));
}
