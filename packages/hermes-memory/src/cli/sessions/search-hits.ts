// Hits of a search as a person reads them: where, the place of the match, and why it ranks there.
import {
  cleanSnippet,
  cleanText,
  foldedSearch,
  isEarlierSearch,
  leftOutField,
  notSearchedField,
  orderRemark,
  type SearchAnswer,
  type SearchHit,
  type SearchStage,
  shownConfidence,
  weakRemark,
} from "@hermes-memory/core/sessions";
import type { Paint } from "../command.ts";
import { oneLine } from "../printing.ts";
import { absoluteTime } from "./relative-time.ts";
import { flat } from "./table.ts";

export type NamedHit = SearchHit & { readonly title: string | null };

/** What a person reads: a warning where nothing answers the question well, then the hits. */
export function answerLines(answer: SearchAnswer, hits: readonly NamedHit[], paint: Paint): string[] {
  const weak = weakRemark(answer);
  return [...(weak === undefined ? [] : [weak, ""]), ...hitLines(hits, answer.stage, paint)];
}

/** The names of the tool's answer where it has the same. */
export function answerJson(query: string, answer: SearchAnswer, hits: readonly NamedHit[]): object {
  const { stage, empty, confidence } = answer;
  const weak = weakRemark(answer);
  return {
    query,
    stage,
    empty: empty ?? null,
    ...(confidence === undefined ? {} : { confidence: shownConfidence(answer), is_weak: confidence.isWeak }),
    ...(weak === undefined ? {} : { message: weak }),
    ...notSearchedField(answer),
    ...leftOutField(answer),
    ...(answer.isPartlyRanked === true ? { order_note: orderRemark(answer) } : {}),
    hits: hits.map((hit) => ({
      ...hit,
      snippet: snippetOf(hit),
      context: hit.context.map(({ role, content }) => ({ role, content: cleanText(content) })),
      // An earlier search quotes other conversations; those are found by themselves.
      ...(isEarlierSearch(hit) ? { context: [], folded: true } : {}),
    })),
  };
}

function hitLines(hits: readonly NamedHit[], stage: SearchStage, paint: Paint): string[] {
  return hits.flatMap((hit, at) => [
    ...(at === 0 ? [] : [""]),
    headLine(hit, paint),
    `  ${highlighted(flat(shortSnippet(snippetOf(hit))).trim(), paint)}`,
    paint("dim", `  ${reasonLine(hit, stage)}`),
  ]);
}

/** As text. Of the output of an earlier search one line that says so, without the snippets in it. */
function snippetOf(hit: SearchHit): string {
  if (!isEarlierSearch(hit)) return cleanSnippet(hit.snippet);
  return foldedSearch(hit, hit.context.map(({ content }) => content).join("\n"));
}

const TITLE_CHARS = 60;
const WORDS_CHARS = 120;
/** Forty words are a few hundred characters, but a "word" may be a whole file in base64. */
const SNIPPET_CHARS = 600;
/** The innermost signs, because texts hold them too: prompts of Python, marks of merge conflicts. */
const MATCH = />>>((?:(?!>>>).)*?)<<</gs;

/** The id goes with the title, because every other command asks for it. */
function headLine({ title, session_id, timestamp, role, tool_name }: NamedHit, paint: Paint): string {
  const id = flat(session_id);
  const name =
    title === null ? paint("bold", id) : `${paint("bold", oneLine(flat(title), TITLE_CHARS))}  ${id}`;
  const who = role === "tool" && tool_name !== null ? `tool ${tool_name}` : role;
  return `${name}  ${absoluteTime(timestamp)}  ${paint(role === "user" ? "green" : "cyan", oneLine(flat(who)))}`;
}

/** The signs around a match become colour where there is colour. */
function highlighted(snippet: string, paint: Paint): string {
  const isColoured = paint("bold", "x") !== "x";
  return isColoured
    ? snippet.replace(MATCH, (_, match: string) => paint("bold", paint("yellow", match)))
    : snippet;
}

function reasonLine({ matched, score }: NamedHit, stage: SearchStage): string {
  const words = oneLine(flat(matched.join(", ")), WORDS_CHARS);
  return `matched ${words === "" ? "nothing by itself" : words} · ${STAGES[stage]} · score ${score.toFixed(2)}`;
}

const STAGES: Readonly<Record<SearchStage, string>> = {
  exact: "exact: the query taken at its word",
  strict: "strict: hits with every word come first",
  widened: "widened: any word, or a form of it",
  none: "none",
};

function shortSnippet(snippet: string): string {
  if (snippet.length <= SNIPPET_CHARS) return snippet;
  const start = Math.max(0, snippet.indexOf(">>>") - SNIPPET_CHARS / 4);
  const part = snippet.slice(start, start + SNIPPET_CHARS).toWellFormed();
  return `${start > 0 ? "…" : ""}${part}${start + SNIPPET_CHARS < snippet.length ? "…" : ""}`;
}
