// `hermes sessions search`: filters from flags, the hits as text or JSON, and why a search found nothing.
import {
  cleanSnippet,
  cleanText,
  type EmptyReason,
  foldedSearch,
  HIDDEN_SOURCES,
  isEarlierSearch,
  leftOutField,
  leftOutRemark,
  notSearchedField,
  notSearchedRemark,
  orderRemark,
  type SearchAnswer,
  type SearchHit,
  type SearchOptions,
  type SearchStage,
  type SessionStore,
  shownConfidence,
  weakRemark,
} from "@hermes-memory/core/internal/sessions";
import type { CommandBody, CommandInput, Paint } from "../command.ts";
import { oneLine } from "../printing.ts";
import { absoluteTime, flat } from "../text-layout.ts";
import {
  findSession,
  momentFlag,
  noDatabaseNote,
  notFoundAnywhere,
  numberFlag,
  openSessions,
  textFlag,
} from "./session-command.ts";

const DEFAULT_LIMIT = 10;

export const search: CommandBody = async (input, context) => {
  const query = input.rest.join(" ");
  const filters = filtersOf(input);
  const session = textFlag(input, "session");
  const store = await openSessions(context, "read");
  if (!store) {
    if (session !== undefined) throw notFoundAnywhere(session, context);
    const nothing: SearchAnswer = { hits: [], stage: "none", empty: "no-match" };
    return {
      json: answerJson(query, nothing, []),
      lines: ["No messages found."],
      notes: [noDatabaseNote(context)],
    };
  }
  const place =
    session === undefined ? hiddenSources(input) : { sessionIds: [(await findSession(store, session)).id] };
  const limit = numberFlag(input, "limit", DEFAULT_LIMIT);
  // One more than is shown, to know whether there are more.
  const answer = await store.search(query, { ...filters, ...place, limit: limit + 1 });
  const hits = await withTitles(store, answer.hits.slice(0, limit));
  const remarks = [notSearchedRemark(answer), leftOutRemark(answer), orderRemark(answer)].filter(
    (line) => line !== undefined,
  );
  const empty = answer.empty && explainEmpty(answer.empty, { query, flags: input.flags });
  const first = hits.length === 1 ? "The first hit" : `The first ${hits.length} hits`;
  const more = `${first}; --limit ${limit * 2} shows more.`;
  return {
    json: answerJson(query, answer, hits),
    lines: empty === undefined ? answerLines(answer, hits, context.io.paint) : [empty.why],
    notes: [
      ...remarks,
      ...(answer.hits.length > limit ? [more] : []),
      ...(empty === undefined ? [] : [empty.hint]),
    ],
  };
};

function filtersOf(input: CommandInput): SearchOptions {
  return {
    sort: textFlag(input, "sort"),
    perLineage: input.flags["per-session"] === true,
    sourceFilter: listFlag(input, "source"),
    roleFilter: listFlag(input, "role"),
    after: momentFlag(input, "after"),
    before: momentFlag(input, "before"),
  };
}

/** Runs of subagents, tools and task boards are searched only with --all or --source. */
function hiddenSources(input: CommandInput): Pick<SearchOptions, "excludeSources"> {
  const isAsked = input.flags.all === true || textFlag(input, "source") !== undefined;
  return isAsked ? {} : { excludeSources: HIDDEN_SOURCES };
}

function listFlag(input: CommandInput, name: string): string[] | undefined {
  const names = textFlag(input, name)
    ?.split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return names?.length === 0 ? undefined : names;
}

/** A session without a title gets the title of the conversation's first session. */
async function withTitles(store: SessionStore, hits: SearchAnswer["hits"]): Promise<NamedHit[]> {
  const known = new Map<string, Promise<string | null>>();
  const titleOf = (id: string) => {
    const asked = known.get(id) ?? store.getSession(id).then((row) => row?.title ?? null);
    known.set(id, asked);
    return asked;
  };
  return Promise.all(
    hits.map(async (hit) => ({
      ...hit,
      title: (await titleOf(hit.session_id)) ?? (await titleOf(hit.lineage_root)),
    })),
  );
}

export type NamedHit = SearchHit & { readonly title: string | null };

/** A warning when the hits answer the question badly, then the hits. */
export function answerLines(answer: SearchAnswer, hits: readonly NamedHit[], paint: Paint): string[] {
  const weak = weakRemark(answer);
  return [...(weak === undefined ? [] : [weak, ""]), ...hitLines(hits, answer.stage, paint)];
}

/** Field names as in the answer of the `session_search` tool. */
export function answerJson(query: string, answer: SearchAnswer, hits: readonly NamedHit[]): object {
  const { stage, empty, confidence } = answer;
  return {
    query,
    stage,
    empty: empty ?? null,
    confidence: confidence && shownConfidence(answer),
    is_weak: confidence?.isWeak,
    message: weakRemark(answer),
    ...notSearchedField(answer),
    ...leftOutField(answer),
    order_note: answer.isPartlyRanked === true ? orderRemark(answer) : undefined,
    hits: hits.map((hit) => ({
      ...hit,
      snippet: snippetOf(hit),
      context: hit.context.map(({ role, content }) => ({ role, content: cleanText(content) })),
      // An earlier search quotes other conversations, which are hits themselves.
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

/** The output of an earlier search is shortened to one line, without the snippets in it. */
function snippetOf(hit: SearchHit): string {
  if (!isEarlierSearch(hit)) return cleanSnippet(hit.snippet);
  return foldedSearch(hit, hit.context.map(({ content }) => content).join("\n"));
}

const TITLE_CHARS = 60;
const WORDS_CHARS = 120;
/** Forty words are a few hundred characters, but a "word" may be a whole file in base64. */
const SNIPPET_CHARS = 600;
/** The innermost signs, because texts contain them too: Python prompts, merge conflicts. */
const MATCH = />>>((?:(?!>>>).)*?)<<</gs;

/** With the id, because every other command takes it as an argument. */
function headLine({ title, session_id, timestamp, role, tool_name }: NamedHit, paint: Paint): string {
  const id = flat(session_id);
  const name =
    title === null ? paint("bold", id) : `${paint("bold", oneLine(flat(title), TITLE_CHARS))}  ${id}`;
  const who = role === "tool" && tool_name !== null ? `tool ${tool_name}` : role;
  return `${name}  ${absoluteTime(timestamp)}  ${paint(role === "user" ? "green" : "cyan", oneLine(flat(who)))}`;
}

/** With colours, matches are coloured instead of marked with signs. */
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

const FILTERS = ["source", "role", "after", "before", "session"];

/** Why a search has no hits, and what the user can try. */
function explainEmpty(
  reason: EmptyReason,
  { query, flags }: { readonly query: string; readonly flags: CommandInput["flags"] },
): { readonly why: string; readonly hint: string } {
  switch (reason) {
    case "blank":
      return {
        why: "Nothing was searched: the query holds no words.",
        hint: "Name what to look for: words, '\"a phrase\"', or the beginning of a word with a star.",
      };
    case "hidden-sources":
      return {
        why: "No messages found, except in runs of subagents, tools and task boards.",
        hint: "--all searches those too.",
      };
    case "excluded-sessions":
    case "filtered": {
      const used = FILTERS.filter((name) => flags[name] !== undefined).map((name) => `--${name}`);
      return {
        why: "No messages found that the filters allow; there are others.",
        hint: `Leave out or widen ${used.join(", ")}.`,
      };
    }
    case "no-match":
      return {
        why: "No messages found.",
        hint: /["*]|\b(AND|OR|NOT)\b/.test(query)
          ? "Quotes, AND, OR, NOT and * are taken at their word. Try the plain words."
          : "Try fewer or other words, or the beginning of one with a star: 'config*'.",
      };
    default:
      return reason satisfies never;
  }
}
