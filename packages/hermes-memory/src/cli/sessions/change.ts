// rename, archive.
import type { CommandBody } from "../command.ts";
import { CommandFailure } from "../command.ts";
import { findSession, notFound, notFoundAnywhere } from "./find-session.ts";
import { openSessions } from "./open-store.ts";
import { flat } from "./table.ts";

export const rename: CommandBody = async (input, context) => {
  const asked = input.args.id ?? "";
  const wanted = input.rest.join(" ");
  const store = await openSessions(context, "write");
  if (!store) throw notFoundAnywhere(asked, context);
  if (wanted.trim() === "") throw new CommandFailure("The title cannot be empty.", { exitCode: 2 });
  const { id } = await findSession(store, asked);
  if (!(await store.setSessionTitle(id, wanted))) throw notFound(id);
  const title = await store.getSessionTitle(id); // as it is kept: blanks and invisible characters may have gone
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
