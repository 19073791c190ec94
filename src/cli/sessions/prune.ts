// prune.

import type { SessionRow } from "../../sessions/index.ts";
import type { CommandBody } from "../command.ts";
import { declined } from "./confirm.ts";
import { numberFlag, sourceFlag } from "./flags.ts";
import { noDatabaseNote, openExisting, transcriptsDirectory } from "./open-store.ts";
import { absoluteTime } from "./relative-time.ts";
import { flat } from "./table.ts";

const DEFAULT_DAYS = 90;
const LISTED = 20;

export const prune: CommandBody = async (input, context) => {
  const isRehearsal = input.flags["dry-run"] === true;
  await using store = await openExisting(context, isRehearsal ? "read" : "write");
  const olderThanDays = numberFlag(input, "older-than", DEFAULT_DAYS);
  const which = { olderThanDays, ...sourceFlag(input) };
  const rows = store ? await store.listPrunable(which) : [];
  const ids = rows.map(({ id }) => id);
  const notes = store ? [] : [noDatabaseNote(context)];
  if (isRehearsal) {
    return {
      json: { success: true, dry_run: true, pruned: 0, sessions: ids },
      lines: [...rows.map(line), `${rows.length} session(s) would be pruned.`],
      notes,
    };
  }
  if (!store || rows.length === 0)
    return { json: { success: true, pruned: 0, sessions: [] }, lines: ["Pruned 0 session(s)."], notes };
  const more =
    rows.length > LISTED ? [`  and ${rows.length - LISTED} more ('--dry-run' lists them all)`] : [];
  const refused = await declined(
    {
      list: [
        `Ended, and started more than ${olderThanDays} days ago:`,
        ...rows.slice(0, LISTED).map(line),
        ...more,
      ],
      question: `Delete ${rows.length} session(s) for good?`,
      json: { sessions: ids },
    },
    input,
    context,
  );
  if (refused) return refused;
  const pruned = await store.pruneSessions({ ...which, sessionsDir: transcriptsDirectory(context) });
  return {
    json: { success: true, pruned, sessions: ids },
    lines: [`Pruned ${pruned} session(s).`],
    notes,
  };
};

function line({ id, title, source, started_at, archived, message_count }: SessionRow): string {
  const name = title === null ? "" : `  ${flat(title)}`;
  const mark = archived ? "  (archived)" : "";
  return `  ${absoluteTime(started_at)}  ${flat(source)}  ${flat(id)}  ${message_count} messages${name}${mark}`;
}
