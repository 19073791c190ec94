// Search in scripts written without blanks, by parts of a text.
import { containsUnspaced, type Expression, type ParsedQuery, type PlainTerm } from "../../search/query.ts";
import { rank, rarity } from "../../search/ranking.ts";
import { makeSubstringSnippet } from "../../search/snippet.ts";
import type { SearchAnswer, SearchOptions, SearchStage } from "../../search/types.ts";
import type { Connection } from "../connection.ts";
import type { StoreContext } from "../context.ts";
import { pageOf, type Scored, toHits } from "./answer.ts";
import { whyEmpty } from "./empty.ts";
import { toConditions } from "./filters.ts";
import { type Needle, needleOf, needlesOf, partsOf } from "./needles.ts";
import { directionOf, type FoundRow, highestId } from "./rows.ts";

const ROWS_RANKED = 300;

type Query = Exclude<ParsedQuery, { readonly kind: "blank" }>;

export function searchUnspaced(context: StoreContext, query: Query, options: SearchOptions): SearchAnswer {
  const { connection } = context;
  const found = find(connection, query, options);
  if (found.rows.length === 0) {
    const finds = (others: SearchOptions) => find(connection, query, others).rows.length > 0;
    return { hits: [], stage: "none", empty: whyEmpty(options, finds) };
  }
  const { offset, limit } = pageOf(options);
  const most = 2 * (offset + limit) > ROWS_RANKED ? found.rows.length : ROWS_RANKED;
  const scored = score(connection, found.needles.map(({ text }) => text).join(" "), {
    ...found,
    rows: found.rows.slice(0, most),
  });
  const texts = found.needles.map(({ text }) => text);
  const hits = toHits(context, scored, options, (text) => makeSubstringSnippet(text, texts));
  return { hits, stage: found.stage };
}

type Found = {
  /** From the end that is shown first. */
  readonly rows: readonly FoundRow[];
  /** What was asked for; not what was excluded. */
  readonly needles: readonly Needle[];
  /** How many rows hold each of them. */
  readonly holders: readonly number[];
  readonly stage: SearchStage;
};

function find(connection: Connection, query: Query, options: SearchOptions): Found {
  const expression = query.kind === "explicit" ? query.expression : joined("and", query.terms);
  const { offset, limit } = pageOf(options);
  const conditions = toConditions(options);
  const search = { connection, conditions, direction: directionOf(options), shown: offset + limit };
  const parts = partsOf(search, expression);
  const select = (wanted: Expression) =>
    parts.rows.filter((row) => isMet(wanted, (needle) => parts.has(row, needle)));
  const strict = select(expression);
  const isWidened = strict.length === 0 && query.kind === "plain";
  const needles = needlesOf(expression, "wanted");
  return {
    rows: isWidened ? select(joined("or", query.terms)) : strict,
    needles,
    holders: needles.map((needle) => parts.count(needle)),
    stage: isWidened ? "widened" : query.kind === "explicit" ? "exact" : "strict",
  };
}

function joined(op: "and" | "or", terms: readonly PlainTerm[]): Expression {
  // What was typed, not its words: a part of a text may hold signs.
  const parts = terms.map(
    ({ words, text }): Expression => ({
      op: "phrase",
      words: containsUnspaced(text) ? [text] : words,
      isPrefix: false,
    }),
  );
  return { op, parts };
}

function isMet(expression: Expression, has: (needle: Needle) => boolean): boolean {
  switch (expression.op) {
    case "phrase":
      return has(needleOf(expression));
    case "and":
      return expression.parts.every((part) => isMet(part, has));
    case "or":
      return expression.parts.some((part) => isMet(part, has));
    case "not":
      return isMet(expression.left, has) && !isMet(expression.right, has);
    default:
      return expression satisfies never;
  }
}

function score(connection: Connection, query: string, { rows, needles, holders }: Found): Scored[] {
  const all = highestId(connection);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const { rows: ranked, kind } = rank({
    query,
    terms: needles.map(({ text, isPrefix }, at) => ({
      words: [text],
      isPrefix,
      forms: [],
      weight: rarity(holders[at] ?? 0, all),
    })),
    rows: rows.map((row) => {
      const { id, session_id: session, timestamp, role } = row;
      const said = row.text;
      return {
        id,
        session,
        timestamp,
        role,
        said,
        did: "",
        isRecall: false,
        before: [],
        after: [],
        isFirst: false,
      };
    }),
    sessionCounts: new Map(),
    spans: [],
  });
  return ranked.flatMap(({ row: { id }, score: points, group, matched, isFull }) => {
    const row = byId.get(id);
    const found = matched.flatMap((at) => needles[at]?.text ?? []);
    return row === undefined ? [] : [{ row, score: points, group, kind, isExact: isFull, matched: found }];
  });
}
