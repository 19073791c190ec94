// `hermes sessions rename`, `archive`, `delete` and `prune`.
import {
  findOrphans,
  type HomeStore,
  removeOrphans,
  type SessionRow,
} from "@hermes-memory/core/internal/sessions";
import { type CommandBody, type CommandInput, usageFailure } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { absoluteTime, counted, firstLines, flat } from "../printing.ts";
import { render } from "../render.ts";
import {
  filesOf,
  findSession,
  noDatabaseNote,
  notFound,
  notFoundAnywhere,
  numberFlag,
  openSession,
  openSessions,
  textFlag,
} from "./session-command.ts";

export const rename: CommandBody = async (input, context) => {
  const asked = input.args.id ?? "";
  const wanted = input.rest.join(" ");
  if (wanted.trim() === "") throw usageFailure("The title cannot be empty.");
  const { store, session } = await openSession(asked, context, "write");
  const { id } = session;
  if (!(await store.setSessionTitle(id, wanted))) throw notFound(id);
  const title = await store.getSessionTitle(id); // the stored one: blanks and invisible characters may have been removed
  return {
    json: { success: true, message: `Session '${id}' renamed to: ${title}`, id, title },
  };
};

export const archive: CommandBody = async (input, context) => {
  const asked = input.args.id ?? "";
  const archived = input.flags.undo !== true;
  const { store, session } = await openSession(asked, context, "write");
  const wasArchived = session.archived !== 0;
  await store.setSessionArchived(session.id, archived);
  const { id } = session;
  const changed = wasArchived !== archived;
  const message = `Session '${id}' is ${changed ? "" : "already "}${archived ? "archived" : "back in the lists"}.`;
  return { json: { success: true, message, id, archived, changed } };
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
  await confirmed(
    {
      list: ["To be deleted, for good:", ...(await describe(store, chosen)), ...delegateLine(delegates)],
      question: chosen.length === 1 ? "Delete it?" : `Delete these ${chosen.length} sessions?`,
      json: { sessions: ids, delegate_runs: delegates },
      isShort: true,
    },
    input,
    context,
  );
  const deleted = await store.deleteSessions(ids, filesOf(context));
  return {
    json: { success: true, deleted: ids, count: deleted, delegate_runs: delegates },
    lines: ids.map((id) => `Deleted session '${flat(id)}'.`),
  };
};

/** Warns when the session is one part of a compressed conversation: the other parts stay and are listed again. */
async function describe(store: HomeStore, rows: readonly SessionRow[]): Promise<string[]> {
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

export const prune: CommandBody = async (input, context) => {
  const isDryRun = input.flags["dry-run"] === true;
  const isOrphans = input.flags.orphans === true;
  if (isOrphans && textFlag(input, "source") !== undefined)
    throw usageFailure("--orphans and --source do not go together: the sessions are gone.");
  const store = await openSessions(context, isDryRun || isOrphans ? "read" : "write");
  const { what, did, head, rows, json, remove } = await (isOrphans ? orphans : oldSessions)(
    store,
    input,
    filesOf(context),
  );
  const notes = store ? [] : [noDatabaseNote(context)];
  const list = rows.length === 0 ? [] : render(rows, context.io.paint);
  if (isDryRun)
    return {
      json: { success: true, dry_run: true, [did]: 0, ...json },
      lines: [...list, `${counted(rows.length, what)} would be ${did}.`],
      notes,
    };
  if (rows.length > 0) {
    const shown = [head, ...firstLines(list, "'--dry-run' lists them all")];
    const question = `Delete ${counted(rows.length, what)} for good?`;
    await confirmed({ list: shown, question, json, isShort: true }, input, context);
  }
  const { done, left } = rows.length > 0 ? await remove() : { done: 0, left: 0 };
  return {
    json: { success: left === 0, [did]: done, ...json },
    lines: [`${counted(done, what)} ${did}.`],
    notes: left === 0 ? notes : [...notes, `${left} could not be removed; check their permissions.`],
    exitCode: left === 0 ? 0 : 1,
  };
};

/** What `prune` would delete. `rows`: for the user. */
type Prunable = {
  readonly what: string;
  readonly did: string;
  readonly head: string;
  readonly rows: readonly object[];
  readonly json: Readonly<Record<string, unknown>>;
  remove(): Promise<{ readonly done: number; readonly left: number }>;
};

type FindPrunable = (
  store: HomeStore | undefined,
  input: CommandInput,
  files: ReturnType<typeof filesOf>,
) => Promise<Prunable>;

const oldSessions: FindPrunable = async (store, input, files) => {
  const which = { olderThanDays: numberFlag(input, "older-than", 90), source: textFlag(input, "source") };
  const rows = (await store?.listPrunable(which)) ?? [];
  return {
    what: "session",
    did: "pruned",
    head: `Ended, and started more than ${which.olderThanDays} days ago:`,
    rows: rows.map(({ started_at, source, id, message_count: messages, title, archived }) => {
      return { started_at, source, id, messages, archived: archived ? "archived" : null, title };
    }),
    json: { sessions: rows.map(({ id }) => id) },
    remove: async () => ({ done: (await store?.pruneSessions({ ...which, ...files })) ?? 0, left: 0 }),
  };
};

/** Without a database it is unknown which files belong to a session. */
const orphans: FindPrunable = async (store, input, files) => {
  const olderThanMs = numberFlag(input, "older-than", 0) * 86_400_000;
  const { results = [], snapshots = [] } =
    (store && (await findOrphans(store, files, { nowMs: Date.now(), olderThanMs }))) ?? {};
  const found = [...results, ...snapshots];
  return {
    what: "file",
    did: "removed",
    head: "No session refers to these files:",
    rows: found.map(({ path, bytes }) => ({ path, bytes })),
    json: { bytes: found.reduce((sum, file) => sum + file.bytes, 0), files: found.map(({ path }) => path) },
    remove: async () => {
      const done = await removeOrphans(found);
      return { done, left: found.length - done };
    },
  };
};
