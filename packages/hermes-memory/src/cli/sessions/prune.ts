// prune.

import { findOrphans, type OrphanFile, removeOrphans, type SessionRow } from "@hermes-memory/core/sessions";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
} from "../command.ts";
import { declined } from "../confirm.ts";
import { numberFlag, sourceFlag, textFlag } from "./flags.ts";
import { filesOf, noDatabaseNote, openSessions } from "./open-store.ts";
import { absoluteTime } from "./relative-time.ts";
import { flat } from "./table.ts";

const DEFAULT_DAYS = 90;
const LISTED = 20;

export const prune: CommandBody = async (input, context) => {
  if (input.flags.orphans === true) return pruneOrphans(input, context);
  const isRehearsal = input.flags["dry-run"] === true;
  const store = await openSessions(context, isRehearsal ? "read" : "write");
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
      isShort: true,
    },
    input,
    context,
  );
  if (refused) return refused;
  const pruned = await store.pruneSessions({ ...which, ...filesOf(context) });
  return {
    json: { success: true, pruned, sessions: ids },
    lines: [`Pruned ${pruned} session(s).`],
    notes,
  };
};

async function pruneOrphans(input: CommandInput, context: CommandContext): Promise<CommandOutcome> {
  if (textFlag(input, "source") !== undefined)
    throw new CommandFailure("--orphans and --source do not go together: the sessions are gone.", {
      exitCode: 2,
    });
  const store = await openSessions(context, "read");
  // Without a database nobody knows whose the files are.
  if (!store)
    return {
      json: { success: true, removed: 0, files: [] },
      lines: ["Removed 0 file(s)."],
      notes: [noDatabaseNote(context)],
    };
  const { results, snapshots } = await findOrphans(store, filesOf(context), {
    nowMs: Date.now(),
    olderThanMs: numberFlag(input, "older-than", 0) * 86_400_000,
  });
  const files = [...results, ...snapshots];
  const paths = files.map(({ path }) => path);
  const json = { bytes: files.reduce((sum, file) => sum + file.bytes, 0), files: paths };
  if (input.flags["dry-run"] === true)
    return {
      json: { success: true, dry_run: true, removed: 0, ...json },
      lines: [...files.map(fileLine), `${files.length} file(s) would be removed.`],
    };
  if (files.length === 0)
    return { json: { success: true, removed: 0, ...json }, lines: ["Removed 0 file(s)."] };
  const more =
    files.length > LISTED ? [`  and ${files.length - LISTED} more ('--dry-run' lists them all)`] : [];
  const refused = await declined(
    {
      list: ["No session refers to these files:", ...files.slice(0, LISTED).map(fileLine), ...more],
      question: `Delete ${files.length} file(s) for good?`,
      json,
      isShort: true,
    },
    input,
    context,
  );
  if (refused) return refused;
  const removed = await removeOrphans(files);
  return {
    json: { success: removed === files.length, removed, ...json },
    lines: [`Removed ${removed} file(s).`],
    ...(removed === files.length
      ? {}
      : { notes: [`${files.length - removed} could not be removed; check their permissions.`], exitCode: 1 }),
  };
}

function fileLine({ path, bytes }: OrphanFile): string {
  return `  ${flat(path)}  ${bytes} bytes`;
}

function line({ id, title, source, started_at, archived, message_count }: SessionRow): string {
  const name = title === null ? "" : `  ${flat(title)}`;
  const mark = archived ? "  (archived)" : "";
  return `  ${absoluteTime(started_at)}  ${flat(source)}  ${flat(id)}  ${message_count} messages${name}${mark}`;
}
