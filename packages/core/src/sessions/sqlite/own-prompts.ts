// The system prompts this program made. They stand in a table of their own, so that what another program wrote into a session's
// row is neither used for one of ours nor overwritten.
import { sessionError } from "../errors.ts";
import type { Scope } from "../identity.ts";
import type { OwnPrompt, SessionRecords } from "../store.ts";
import type { Connection } from "./connection.ts";
import { type StoreContext, seconds, visibleTo } from "./context.ts";
import { isVisible } from "./lineage-sql.ts";
import { hasOwnTable } from "./own-tables.ts";
import { readable } from "./readable-fields.ts";
import { findSession, writePrompt } from "./sessions.ts";
import { OWN_PROMPTS } from "./side-tables.ts";

const TABLE = OWN_PROMPTS.name;
const GET = `
  SELECT p.prompt AS text, ${readable("p.version", "version")}
  FROM ${TABLE} p JOIN sessions s ON s.id = p.session_id WHERE p.session_id = :id AND ${isVisible("s")}
`;
const CLEAR = `DELETE FROM ${TABLE} WHERE session_id = :id`;
const PUT = `
  INSERT INTO ${TABLE} (session_id, prompt, version, created_at) VALUES (:id, :text, :version, :now)
`;
export type OwnPromptOperations = Pick<SessionRecords, "saveOwnPrompt" | "getOwnPrompt">;

export function ownPromptOperations({ connection, clock }: StoreContext): OwnPromptOperations {
  return {
    async saveOwnPrompt(id, text, version) {
      await connection.write(() => {
        const session = findSession(connection, id);
        if (session === null)
          throw sessionError("unknown-session", `There is no session '${id}' to store a prompt for.`, {
            hint: "Create it first with createSession.",
          });
        const before = readOwnPrompt(connection, id)?.text ?? null;
        writeOwnPrompt(connection, id, { text, version }, seconds(clock));
        const { system_prompt: inRow } = session;
        if (inRow === null || inRow === "" || inRow === before) writePrompt(connection, id, text);
      });
    },
    getOwnPrompt: (id, scope) => connection.read(() => readOwnPrompt(connection, id, scope)),
  };
}

export function readOwnPrompt(connection: Connection, id: string, scope?: Scope): OwnPrompt | null {
  const values = { id, ...visibleTo(scope) };
  const row = hasOwnTable(connection, OWN_PROMPTS) ? connection.get<OwnPrompt>(GET, values) : undefined;
  return row !== undefined && typeof row.text === "string" ? { ...row } : null;
}

/** Inside a transaction. Without the table the prompt is not kept, and is built anew the next time. */
export function writeOwnPrompt(
  connection: Connection,
  id: string,
  { text, version }: OwnPrompt,
  now: number,
): void {
  if (!hasOwnTable(connection, OWN_PROMPTS)) return;
  connection.run(CLEAR, { id });
  connection.run(PUT, { id, text, version, now });
}
