// SQLite's own full-text search, to compare with.
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";

export type RealFts5 = {
  /** The words of each text, in order. */
  readonly words: (texts: readonly string[]) => string[][];
  /** Indexes of the matching texts, from 0. Throws for what FTS5 does not accept. */
  readonly matching: (match: string) => number[];
  readonly snippets: (match: string) => { readonly index: number; readonly snippet: string }[];
};

export function realFts5(
  texts: readonly string[] = [],
  tokenizer = "unicode61 remove_diacritics 2",
): RealFts5 {
  const db = new DatabaseSync(":memory:");
  onTestFinished(() => db.close());
  db.exec(`CREATE VIRTUAL TABLE t USING fts5(text, tokenize = '${tokenizer}')`);
  db.exec("CREATE VIRTUAL TABLE words USING fts5vocab(t, 'instance')");
  const insert = db.prepare("INSERT INTO t(rowid, text) VALUES (?, ?)");
  const fill = (rows: readonly string[]) => {
    db.exec("BEGIN");
    for (const [index, text] of rows.entries()) insert.run(index, text);
    db.exec("COMMIT");
  };
  fill(texts);
  const search = db.prepare("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rowid");
  const snippet = db.prepare(
    "SELECT rowid AS [index], snippet(t, 0, '>>>', '<<<', '...', 40) AS snippet FROM t WHERE t MATCH ? ORDER BY rowid",
  );
  const words = db.prepare('SELECT term, doc, "offset" FROM words');
  return {
    words(rows) {
      db.exec("DELETE FROM t");
      fill(rows);
      const found: string[][] = rows.map(() => []);
      for (const { term, doc, offset } of words.iterate()) found[Number(doc)]![Number(offset)] = String(term);
      return found;
    },
    matching: (match) => search.all(match).map(({ rowid }) => Number(rowid)),
    snippets: (match) =>
      snippet.all(match).map((row) => ({ index: Number(row.index), snippet: String(row.snippet) })),
  };
}
