// Queries as the original hands them to FTS5.
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { sanitizeFtsQuery } from "../../src/sessions/search/sanitize.ts";
import { readVectors } from "./vectors.ts";

type Case = { id: string; query: string; sanitized: string; fts5_accepts: boolean | null };

const cases = readVectors<Case>("fts-sanitize.jsonl");

describe.skipIf(!cases)("queries are sanitised as the original does it", () => {
  it.each(cases?.map((each) => [each.id, each] as const) ?? [])("%s", (_id, { query, sanitized }) => {
    expect(sanitizeFtsQuery(query)).toBe(sanitized);
  });

  it("and FTS5 accepts the same of them", () => {
    using db = new DatabaseSync(":memory:");
    db.exec("CREATE VIRTUAL TABLE t USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')");
    const search = db.prepare("SELECT rowid FROM t WHERE t MATCH ?");
    for (const { id, query, fts5_accepts } of cases ?? []) {
      if (fts5_accepts === null) continue;
      const run = () => search.all(sanitizeFtsQuery(query));
      if (fts5_accepts) expect(run, id).not.toThrow();
      else expect(run, id).toThrow();
    }
  });
});
