// `hermes sessions search`: filters from flags, the hits as text or JSON, and why a search found nothing.
import {
  answerJson,
  type EmptyReason,
  HIDDEN_SOURCES,
  type NamedHit,
  remarksOn,
  type SearchAnswer,
  type SearchOptions,
  type SearchStage,
  shortSnippet,
  weakRemark,
  withTitles,
} from "@hermes-memory/core/internal/sessions";
import type { CommandBody, CommandInput, Paint } from "../command.ts";
import { absoluteTime, flat, oneLine } from "../printing.ts";
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
  const empty = answer.empty && EMPTY[answer.empty];
  const first = hits.length === 1 ? "The first hit" : `The first ${hits.length} hits`;
  const more = `${first}; --limit ${limit * 2} shows more.`;
  return {
    json: answerJson(query, answer, hits),
    lines: empty === undefined ? answerLines(answer, hits, context.io.paint) : [empty.why],
    notes: [
      ...remarksOn(answer),
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

/** A warning when the hits answer the question badly, then the hits. */
export function answerLines(answer: SearchAnswer, hits: readonly NamedHit[], paint: Paint): string[] {
  const weak = weakRemark(answer);
  return [...(weak === undefined ? [] : [weak, ""]), ...hitLines(hits, answer.stage, paint)];
}

function hitLines(hits: readonly NamedHit[], stage: SearchStage, paint: Paint): string[] {
  return hits.flatMap((hit, at) => [
    ...(at === 0 ? [] : [""]),
    headLine(hit, paint),
    `  ${highlighted(flat(shortSnippet(hit, SNIPPET_CHARS)).trim(), paint)}`,
    paint("dim", `  ${reasonLine(hit, stage)}`),
  ]);
}

const TITLE_CHARS = 60;
const WORDS_CHARS = 120;
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

type Explanation = { readonly why: string; readonly hint: string };

const FILTERED = {
  why: "No messages found that the filters allow; there are others.",
  hint: "Leave out or widen some of --source, --role, --after, --before and --session.",
};

const EMPTY: Readonly<Record<EmptyReason, Explanation>> = {
  blank: {
    why: "Nothing was searched: the query holds no words.",
    hint: "Name what to look for: words, '\"a phrase\"', or the beginning of a word with a star.",
  },
  "hidden-sources": {
    why: "No messages found, except in runs of subagents, tools and task boards.",
    hint: "--all searches those too.",
  },
  "excluded-sessions": FILTERED,
  filtered: FILTERED,
  "no-match": {
    why: "No messages found.",
    hint: "Try fewer, plainer words, or the beginning of one with a star ('config*'). Quotes, AND, OR, NOT and * are taken at their word.",
  },
};
