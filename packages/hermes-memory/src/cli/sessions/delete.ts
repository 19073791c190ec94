// delete.
import type { SessionRow, SessionStore } from "@hermes-memory/core/sessions";
import type { CommandBody } from "../command.ts";
import { declined } from "../confirm.ts";
import { counted } from "../printing.ts";
import { findSession, notFoundAnywhere } from "./find-session.ts";
import { filesOf, openSessions } from "./open-store.ts";
import { absoluteTime } from "./relative-time.ts";
import { flat } from "./table.ts";

export const remove: CommandBody = async (input, context) => {
  const store = await openSessions(context, "write");
  if (!store) throw notFoundAnywhere(input.rest[0] ?? "", context);
  const rows = new Map<string, SessionRow>(); // the same one may be named twice
  for (const asked of input.rest) {
    const row = await findSession(store, asked);
    rows.set(row.id, row);
  }
  const doomed = [...rows.values()];
  const ids = doomed.map(({ id }) => id);
  const delegates = (await store.listDelegates(ids)).length;
  const refused = await declined(
    {
      list: ["To be deleted, for good:", ...(await describe(store, doomed)), ...delegateLine(delegates)],
      question: doomed.length === 1 ? "Delete it?" : `Delete these ${doomed.length} sessions?`,
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

/** A link of a compressed conversation goes alone, and what is left of the conversation turns up in the lists again. */
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
