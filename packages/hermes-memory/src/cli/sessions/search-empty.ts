// What a search that shows nothing says: why, and what to try.
import type { EmptyReason } from "@hermes-memory/core/sessions";
import type { CommandInput } from "../command.ts";

export function emptyReason(reason: EmptyReason): string {
  switch (reason) {
    case "blank":
      return "Nothing was searched: the query holds no words.";
    case "hidden-sources":
      return "No messages found, except in runs of subagents, tools and task boards.";
    case "excluded-sessions":
    case "filtered":
      return "No messages found that the filters allow; there are others.";
    case "no-match":
      return "No messages found.";
    default:
      return reason satisfies never;
  }
}

type Asked = { readonly query: string; readonly flags: CommandInput["flags"] };

export function whatToTry(reason: EmptyReason, { query, flags }: Asked): string {
  switch (reason) {
    case "blank":
      return "Name what to look for: words, '\"a phrase\"', or the beginning of a word with a star.";
    case "hidden-sources":
      return "--all searches those too.";
    case "excluded-sessions":
    case "filtered":
      return `Leave out or widen ${FILTERS.filter((name) => flags[name] !== undefined)
        .map((name) => `--${name}`)
        .join(", ")}.`;
    case "no-match":
      return /["*]|\b(AND|OR|NOT)\b/.test(query)
        ? "Quotes, AND, OR, NOT and * are taken at their word. Try the plain words."
        : "Try fewer or other words, or the beginning of one with a star: 'config*'.";
    default:
      return reason satisfies never;
  }
}

const FILTERS = ["source", "role", "after", "before", "session"];
