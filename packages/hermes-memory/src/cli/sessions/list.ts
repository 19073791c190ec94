// list.
import { systemClock } from "@hermes-memory/core/lib";
import { INTERNAL_SOURCES, type ListedSession, type ListOptions } from "@hermes-memory/core/sessions";
import type { CommandBody, CommandInput } from "../command.ts";
import { numberFlag, sourceFlag, textFlag } from "./flags.ts";
import { noDatabaseNote, openSessions } from "./open-store.ts";
import { sessionTable } from "./table.ts";

const DEFAULT_LIMIT = 20;

export const list: CommandBody = async (input, context) => {
  const store = await openSessions(context, "read");
  if (!store) return { json: [], lines: ["No sessions found."], notes: [noDatabaseNote(context)] };
  const filter = filterOf(input);
  const limit = numberFlag(input, "limit", DEFAULT_LIMIT);
  const orderByLastActive = input.flags["by-activity"] === true;
  const rows = await store.listSessionsRich({ ...filter, limit, orderByLastActive });
  const total =
    rows.length < limit
      ? rows.length
      : await store.sessionCount({ ...filter, excludeChildren: true, includeHidden: false });
  const more = `The first ${rows.length} of ${total} sessions; --limit ${total} lists them all.`;
  return {
    json: rows.map(listedJson),
    lines:
      rows.length === 0
        ? ["No sessions found."]
        : sessionTable(rows, { now: systemClock.now(), paint: context.io.paint }),
    notes: [...(total > rows.length ? [more] : [])],
  };
};

/** What programs run for themselves is nobody's conversation: it shows up only when it is asked for. */
export function hiddenSources(input: CommandInput): Pick<ListOptions, "excludeSources"> {
  return textFlag(input, "source") === undefined ? { excludeSources: INTERNAL_SOURCES } : {};
}

/** A row without the prompt, which is long and the same in every line. `show` has it. */
export function listedJson({ system_prompt: _prompt, ...row }: ListedSession): object {
  return row;
}

function filterOf(input: CommandInput): ListOptions {
  return {
    ...sourceFlag(input),
    ...hiddenSources(input),
    ...(input.flags.all === true ? { includeArchived: true } : {}),
    ...(input.flags.archived === true ? { archivedOnly: true } : {}),
  };
}
