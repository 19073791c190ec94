// `hermes sessions rename`, `archive`, `delete` and `prune`.
import {
  findOrphans,
  type OrphanFile,
  removeOrphans,
  type SessionRow,
  type SessionStore,
} from "@hermes-memory/core/internal/sessions";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
} from "../command.ts";
import { declined } from "../confirm.ts";
import { counted } from "../printing.ts";
import {
  filesOf,
  findSession,
  noDatabaseNote,
  notFound,
  notFoundAnywhere,
  numberFlag,
  openSessions,
  textFlag,
} from "./session-command.ts";
import { absoluteTime, flat } from "./text-layout.ts";

export const rename: CommandBody = async (input, context) => {
  const asked = input.args.id ?? "";
  const wanted = input.rest.join(" ");
  const store = await openSessions(context, "write");
  if (!store) throw notFoundAnywhere(asked, context);
  if (wanted.trim() === "") throw new CommandFailure("The title cannot be empty.", { exitCode: 2 });
  const { id } = await findSession(store, asked);
  if (!(await store.setSessionTitle(id, wanted))) throw notFound(id);
  const title = await store.getSessionTitle(id); // the stored one: blanks and invisible characters may have been removed
  return {
    json: { success: true, id, title },
    lines: [`Session '${flat(id)}' renamed to: ${flat(title ?? "")}`],
  };
};

export const archive: CommandBody = async (input, context) => {
  const asked = input.args.id ?? "";
  const archived = input.flags.undo !== true;
  const store = await openSessions(context, "write");
  if (!store) throw notFoundAnywhere(asked, context);
  const session = await findSession(store, asked);
  const wasArchived = session.archived !== 0;
  await store.setSessionArchived(session.id, archived);
  const did = archived ? "archived" : "back in the lists";
  return {
    json: { success: true, id: session.id, archived, changed: wasArchived !== archived },
    lines: [`Session '${flat(session.id)}' is ${wasArchived === archived ? "already " : ""}${did}.`],
  };
};

export const remove: CommandBody = async (input, context) => {
  const store = await openSessions(context, "write");
  if (!store) throw notFoundAnywhere(input.rest[0] ?? "", context);
  const rows = new Map<string, SessionRow>(); // the user may name the same session twice
  for (const asked of input.rest) {
    const row = await findSession(store, asked);
    rows.set(row.id, row);
  }
  const chosen = [...rows.values()];
  const ids = chosen.map(({ id }) => id);
  const delegates = (await store.listDelegates(ids)).length;
  const refused = await declined(
    {
      list: ["To be deleted, for good:", ...(await describe(store, chosen)), ...delegateLine(delegates)],
      question: chosen.length === 1 ? "Delete it?" : `Delete these ${chosen.length} sessions?`,
      json: { sessions: ids, delegate_runs: delegates },
      isShort: true,
    },
    input,
    context,
  );
  if (refused) return refused;
  const deleted = await store.deleteSessions(ids, filesOf(context));
  return {
    json: { success: true, deleted: ids, count: deleted, delegate_runs: delegates },
    lines: ids.map((id) => `Deleted session '${flat(id)}'.`),
  };
};

/** Warns when the session is one part of a compressed conversation: the other parts stay and are listed again. */
async function describe(store: SessionStore, rows: readonly SessionRow[]): Promise<string[]> {
  const lines: string[] = [];
  for (const { id, title, message_count, started_at, source, parent_session_id: parent } of rows) {
    const about = `${counted(message_count, "message")}, ${source}, ${absoluteTime(started_at)}`;
    lines.push(`  ${flat(id)}  ${title === null ? "" : `${flat(title)}  `}${flat(about)}`);
    const tip = await store.getCompressionTip(id);
    if (tip !== id) lines.push(`    the conversation goes on in ${flat(tip)}, which stays`);
    if (parent !== null && (await store.getCompressionTip(parent)) === tip)
      lines.push(`    the conversation began in ${flat(parent)}, which stays`);
  }
  return lines;
}

function delegateLine(delegates: number): string[] {
  return delegates ? [`  and ${counted(delegates, "delegate run")} of theirs`] : [];
}

const DEFAULT_DAYS = 90;
const LISTED = 20;

export const prune: CommandBody = async (input, context) => {
  if (input.flags.orphans === true) return pruneOrphans(input, context);
  const isDryRun = input.flags["dry-run"] === true;
  const store = await openSessions(context, isDryRun ? "read" : "write");
  const olderThanDays = numberFlag(input, "older-than", DEFAULT_DAYS);
  const which = { olderThanDays, source: textFlag(input, "source") };
  const rows = store ? await store.listPrunable(which) : [];
  const ids = rows.map(({ id }) => id);
  const notes = store ? [] : [noDatabaseNote(context)];
  if (isDryRun) {
    return {
      json: { success: true, dry_run: true, pruned: 0, sessions: ids },
      lines: [...rows.map(line), `${rows.length} session(s) would be pruned.`],
      notes,
    };
  }
  if (!store || rows.length === 0)
    return { json: { success: true, pruned: 0, sessions: [] }, lines: ["Pruned 0 session(s)."], notes };
  const refused = await declined(
    {
      list: [`Ended, and started more than ${olderThanDays} days ago:`, ...firstLines(rows.map(line))],
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
  // Without a database it is unknown which files belong to a session.
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
  const refused = await declined(
    {
      list: ["No session refers to these files:", ...firstLines(files.map(fileLine))],
      question: `Delete ${files.length} file(s) for good?`,
      json,
      isShort: true,
    },
    input,
    context,
  );
  if (refused) return refused;
  const removed = await removeOrphans(files);
  const left = files.length - removed;
  return {
    json: { success: left === 0, removed, ...json },
    lines: [`Removed ${removed} file(s).`],
    notes: left === 0 ? [] : [`${left} could not be removed; check their permissions.`],
    exitCode: left === 0 ? 0 : 1,
  };
}

function firstLines(lines: readonly string[]): string[] {
  const rest = lines.length - LISTED;
  return [
    ...lines.slice(0, LISTED),
    ...(rest > 0 ? [`  and ${rest} more ('--dry-run' lists them all)`] : []),
  ];
}

function fileLine({ path, bytes }: OrphanFile): string {
  return `  ${flat(path)}  ${bytes} bytes`;
}

function line({ id, title, source, started_at, archived, message_count }: SessionRow): string {
  const name = title === null ? "" : `  ${flat(title)}`;
  const mark = archived ? "  (archived)" : "";
  return `  ${absoluteTime(started_at)}  ${flat(source)}  ${flat(id)}  ${message_count} messages${name}${mark}`;
}
