// The parts of a text a query asks for, and the messages that hold them.
import { containsUnspaced, type Expression, type Phrase, toMatch } from "../../search/query.ts";
import type { Connection } from "../connection.ts";
import type { Conditions } from "./filters.ts";
import { type Direction, type FoundRow, findRows, rowsOf } from "./rows.ts";
import { idsOfTrigrams, latestTexts } from "./vocabulary.ts";

export type Needle = { readonly text: string; readonly isPrefix: boolean };

/** How many rows of one part are looked at, from the end that is shown first. */
const ROWS_PER_PART = 1500;
/** With a single part nothing has to be found in common, so those that are shown and some to rank them with will do. */
const ROWS_OF_ONLY_PART = 180;
/** Occurrences of one or two characters that are looked at: in order of trigrams, not of time. */
const OCCURRENCES = 4000;
/** Under a filter many of them may be somebody else's. */
const OCCURRENCES_FILTERED = 40_000;
const LATEST_TEXTS = 200;

export type Parts = {
  /** Every row that holds one of the parts, as far as they were looked for; from the end that is shown first. */
  readonly rows: readonly FoundRow[];
  has(row: FoundRow, needle: Needle): boolean;
  count(needle: Needle): number;
};

/** Without doublets. */
export function needlesOf(expression: Expression, which: "wanted" | "all"): Needle[] {
  const found = new Map<string, Needle>();
  const visit = (each: Expression): void => {
    if (each.op === "phrase") found.set(keyOf(needleOf(each)), needleOf(each));
    else if (each.op !== "not") each.parts.forEach(visit);
    else for (const side of which === "all" ? [each.left, each.right] : [each.left]) visit(side);
  };
  visit(expression);
  return [...found.values()];
}

export function needleOf({ words, isPrefix }: Phrase): Needle {
  return { text: words.join(" "), isPrefix };
}

type Search = {
  readonly connection: Connection;
  readonly conditions: Conditions;
  readonly direction: Direction;
  /** How many rows will be shown, those of earlier pages included. */
  readonly shown: number;
};
type Part = { readonly rows: Map<number, FoundRow>; readonly isComplete: boolean };

export function partsOf(search: Search, expression: Expression): Parts {
  const needles = needlesOf(expression, "all");
  const most = needles.length > 1 ? ROWS_PER_PART : Math.max(ROWS_OF_ONLY_PART, 2 * search.shown);
  const parts = new Map(needles.map((needle) => [keyOf(needle), partOf(search, needle, most)]));
  addRowsWithAll(search, expression, parts);
  const rows = new Map([...parts.values()].flatMap((part) => [...part.rows]));
  for (const row of rowsWithout(search, expression, parts)) rows.set(row.id, row);
  if ([...parts.values()].some(({ isComplete }) => !isComplete)) completeTexts(search, rows);
  const sign = search.direction === "newest" ? -1 : 1;
  return {
    rows: [...rows.values()].sort((a, b) => sign * (a.id - b.id)),
    has(row, needle) {
      const part = parts.get(keyOf(needle));
      if (part === undefined || part.rows.has(row.id)) return part !== undefined;
      // What a part was not looked up for to its end, the text of the row itself tells.
      return (
        !part.isComplete && (rows.get(row.id) ?? row).text.toLowerCase().includes(needle.text.toLowerCase())
      );
    },
    count: (needle) => parts.get(keyOf(needle))?.rows.size ?? 0,
  };
}

function partOf(search: Search, needle: Needle, limit: number): Part {
  const { connection, conditions, direction } = search;
  const find = (table: "messages_fts" | "messages_fts_trigram", match: string) =>
    findRows(connection, table, match, conditions, { limit, direction });
  const short = isShort(needle) ? shortRows(search, needle, limit) : undefined;
  const inTexts = short?.rows ?? find("messages_fts_trigram", quote(needle.text));
  const inWords = containsUnspaced(needle.text)
    ? []
    : find("messages_fts", quote(needle.text) + (needle.isPrefix ? " *" : ""));
  // The text of the trigram index is the whole one.
  const rows = new Map([...inWords, ...inTexts].map((row) => [row.id, row]));
  const isComplete = (short?.isComplete ?? true) && inTexts.length < limit && inWords.length < limit;
  return { rows, isComplete };
}

function shortRows(
  { connection, conditions, direction }: Search,
  { text }: Needle,
  limit: number,
): { readonly rows: FoundRow[]; readonly isComplete: boolean } {
  const folded = text.toLowerCase();
  const most = conditions.isNarrow ? OCCURRENCES_FILTERED : OCCURRENCES;
  const { ids, isComplete } = idsOfTrigrams(connection, folded, most);
  if (!isComplete) {
    const latest = latestTexts(connection, conditions, { walked: most, limit: LATEST_TEXTS, direction });
    for (const id of latest) ids.add(id);
  }
  const sign = direction === "newest" ? -1 : 1;
  const sorted = [...ids].sort((a, b) => sign * (a - b));
  const rows = rowsOf(connection, sorted, conditions, limit);
  return {
    rows: rows.filter((row) => row.text.toLowerCase().includes(folded)),
    isComplete: isComplete && rows.length < limit,
  };
}

/** Two parts that many texts hold may have few texts in common, and those may be old. */
function addRowsWithAll(
  { connection, conditions, direction }: Search,
  expression: Expression,
  parts: ReadonlyMap<string, Part>,
): void {
  const phrases = expression.op === "and" ? expression.parts.filter((part) => part.op === "phrase") : [];
  const long = phrases.map(needleOf).filter(isInTrigrams);
  if (long.length < 2 || long.every((needle) => parts.get(keyOf(needle))?.isComplete)) return;
  const match = long.map(({ text }) => quote(text)).join(" AND ");
  const rows = findRows(connection, "messages_fts_trigram", match, conditions, {
    limit: ROWS_PER_PART,
    direction,
  });
  for (const row of rows) for (const needle of long) parts.get(keyOf(needle))?.rows.set(row.id, row);
}

/** Nor may the newest of a part be all that is left when another part is excluded. */
function rowsWithout(
  { connection, conditions, direction }: Search,
  expression: Expression,
  parts: ReadonlyMap<string, Part>,
): FoundRow[] {
  const isComplete = [...parts.values()].every((part) => part.isComplete);
  if (expression.op !== "not" || isComplete || !needlesOf(expression, "all").every(isInTrigrams)) return [];
  const limit = ROWS_PER_PART;
  return findRows(connection, "messages_fts_trigram", toMatch(expression), conditions, { limit, direction });
}

/** The word index leaves out what is written without blanks. */
function completeTexts({ connection, conditions }: Search, rows: Map<number, FoundRow>): void {
  const ids = [...rows.values()].filter(({ text }) => !containsUnspaced(text)).map(({ id }) => id);
  for (const row of rowsOf(connection, ids, conditions, ids.length)) rows.set(row.id, row);
}

function isInTrigrams(needle: Needle): boolean {
  return !isShort(needle) && containsUnspaced(needle.text);
}

function isShort({ text }: Needle): boolean {
  return [...text].length < 3;
}

function keyOf({ text, isPrefix }: Needle): string {
  return isPrefix ? `${text}*` : text;
}

function quote(text: string): string {
  return `"${text.replaceAll('"', '""').replaceAll("\0", " ")}"`;
}
