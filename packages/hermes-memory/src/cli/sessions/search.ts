// search.
import { systemClock } from "@hermes-memory/core/lib";
import {
  HIDDEN_SOURCES,
  leftOutRemark,
  notSearchedRemark,
  orderRemark,
  parseMoment,
  type SearchAnswer,
  type SearchOptions,
  type SessionStore,
} from "@hermes-memory/core/sessions";
import { type CommandBody, CommandFailure, type CommandInput } from "../command.ts";
import { printable } from "../printing.ts";
import { findSession, notFoundAnywhere } from "./find-session.ts";
import { numberFlag, textFlag } from "./flags.ts";
import { noDatabaseNote, openSessions } from "./open-store.ts";
import { emptyReason, whatToTry } from "./search-empty.ts";
import { answerJson, answerLines, type NamedHit } from "./search-hits.ts";

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
  // One more than is shown is enough to know that there are more.
  const answer = await store.search(query, { ...filters, ...place, limit: limit + 1 });
  const hits = await withTitles(store, answer.hits.slice(0, limit));
  const remarks = [notSearchedRemark(answer), leftOutRemark(answer), orderRemark(answer)].filter(
    (line) => line !== undefined,
  );
  const first = hits.length === 1 ? "The first hit" : `The first ${hits.length} hits`;
  const more = `${first}; --limit ${limit * 2} shows more.`;
  return {
    json: answerJson(query, answer, hits),
    lines:
      answer.empty === undefined ? answerLines(answer, hits, context.io.paint) : [emptyReason(answer.empty)],
    notes: [
      ...remarks,
      ...(answer.hits.length > limit ? [more] : []),
      ...(answer.empty === undefined ? [] : [whatToTry(answer.empty, { query, flags: input.flags })]),
    ],
  };
};

function filtersOf(input: CommandInput): SearchOptions {
  const sources = listFlag(input, "source");
  const roles = listFlag(input, "role");
  const after = momentFlag(input, "after");
  const before = momentFlag(input, "before");
  return {
    sort: textFlag(input, "sort"),
    perLineage: input.flags["per-session"] === true,
    ...(sources === undefined ? {} : { sourceFilter: sources }),
    ...(roles === undefined ? {} : { roleFilter: roles }),
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
  };
}

/** Runs of subagents, tools and task boards are found only when they are asked for. */
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

function momentFlag(input: CommandInput, name: string): number | undefined {
  const written = textFlag(input, name);
  if (written === undefined) return undefined;
  const moment = parseMoment(written, systemClock.now());
  if (moment !== undefined) return moment;
  throw new CommandFailure(`--${name}: '${printable(written)}' is no time that can be understood.`, {
    exitCode: 2,
    hint: "Write a date (2026-01-31), a date with a time (2026-01-31 09:45), or an age (12h, 7d, 3mo).",
  });
}

/** A title belongs to the conversation: a part of it that has none goes by that of its beginning. */
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
