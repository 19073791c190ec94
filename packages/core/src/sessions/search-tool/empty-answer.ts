// Nothing to show: why, and what to try instead. A bare empty list makes a model conclude that it never happened.
import { leftOutField, notSearchedField } from "../search/answer-text.ts";
import type { SearchAnswer } from "../search/types.ts";
import type { DiscoverRequest } from "./port.ts";
import { HIDDEN_SOURCES } from "./port.ts";

/** The part of the answer that says so. `message` of a plain miss is a fixed text that other programs know. */
export function emptyAnswer(answer: SearchAnswer, request: DiscoverRequest): object {
  return { ...nothingFound(answer, request), ...notSearchedField(answer), ...leftOutField(answer) };
}

function nothingFound(answer: SearchAnswer, request: DiscoverRequest): object {
  const nothing = { results: [], count: 0, stage: answer.stage };
  switch (answer.empty) {
    case "excluded-sessions":
      return {
        ...nothing,
        sessions_searched: 0,
        message:
          "Matches are only in the current conversation, which is left out. Pass scope='lineage' to search its earlier turns.",
      };
    case "hidden-sources":
      return {
        ...nothing,
        message: `${NO_MATCH} Matches are only in hidden sources (${HIDDEN_SOURCES.join(", ")}).`,
        hint: `Pass source='${HIDDEN_SOURCES.join(",")}' to search those.`,
      };
    case "filtered":
      return {
        ...nothing,
        message: `${NO_MATCH} There are matches outside the filters given.`,
        hint: `Leave out or widen ${filtersOf(request).join(", ")}.`,
      };
    case "blank":
      return { ...nothing, message: NO_MATCH, hint: "The query holds no words. Name what to look for." };
    default:
      return { ...nothing, message: NO_MATCH, hint: hintFor(request) };
  }
}

const NO_MATCH = "No matching sessions found.";

function hintFor(request: DiscoverRequest): string {
  if (/["*]|\b(AND|OR|NOT)\b/.test(request.query))
    return "Quotes, operators and * are taken literally. Try the plain words, fewer of them, or OR between them.";
  return "Try other or fewer words, a prefix such as deploy*, or leave the query out to browse recent sessions.";
}

function filtersOf({ roles, filters, reach }: DiscoverRequest): string[] {
  const given = [
    roles === undefined ? undefined : "role_filter",
    filters.sources === undefined ? undefined : "source",
    filters.after === undefined ? undefined : "after",
    filters.before === undefined ? undefined : "before",
    reach === "lineage" ? "scope" : undefined,
  ].filter((name) => name !== undefined);
  return given.length === 0 ? ["the filters"] : given;
}
