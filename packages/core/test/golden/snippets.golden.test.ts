// Snippets of the original's word search, made anew by our own code from the same rows.
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { parseQuery } from "../../src/sessions/search/query.ts";
import type { Expression, Phrase } from "../../src/sessions/search/reads.ts";
import { makeSnippet } from "../../src/sessions/search/snippet.ts";
import { copyOf, readAnswers } from "./session-databases.ts";

type Search = {
  query: string;
  args: object;
  route: string;
  ids: number[];
  snippets: string[];
  structured_ids: number[];
};

const answers = readAnswers<{ search_messages: Search[] }>("expected.json");
const searches = answers?.search_messages.filter(({ route, ids }) => route === "fts" && ids.length > 0) ?? [];

const TEXT_OF = `
  SELECT COALESCE(content, '') || ' ' || COALESCE(tool_name, '') || ' ' || COALESCE(tool_calls, '') AS text
  FROM messages WHERE id = ?
`;

describe.skipIf(!answers)("snippets are those of the original", () => {
  it.each(searches.map((search) => [`${search.query} ${JSON.stringify(search.args)}`, search] as const))(
    "%s",
    (_name, { query, ids, snippets, structured_ids }) => {
      using db = new DatabaseSync(copyOf("state.db"));
      const textOf = db.prepare(TEXT_OF);
      const wanted = phrasesOf(query);
      const isMatch = (term: string) =>
        wanted.some(({ words, isPrefix }) => {
          const [only = ""] = words;
          return words.length === 1 && (isPrefix ? term.startsWith(only) : term === only);
        });
      const several = wanted.filter(({ words }) => words.length > 1).map(({ words }) => words);
      for (const [index, id] of ids.entries()) {
        if (structured_ids.includes(id)) continue;
        expect(makeSnippet(String(textOf.get(id)?.text), isMatch, several)).toBe(snippets[index]);
      }
    },
  );
});

function phrasesOf(query: string): Pick<Phrase, "words" | "isPrefix">[] {
  const parsed = parseQuery(query);
  if (parsed.kind === "blank") return [];
  if (parsed.kind === "plain") return parsed.terms.map(({ words }) => ({ words, isPrefix: false }));
  return leaves(parsed.expression);
}

/** What follows a NOT is not in the text, so it does no harm here. */
function leaves(expression: Expression): Phrase[] {
  if (expression.op === "phrase") return [expression];
  if (expression.op === "not") return [...leaves(expression.left), ...leaves(expression.right)];
  return expression.parts.flatMap(leaves);
}
