// Opens a session store. The backend is imported on first use, because loading SQLite costs start-up time.
import { HermesError } from "../lib/index.ts";
import type { SqliteStoreOptions } from "./sqlite/options.ts";
import type { SessionStore } from "./store.ts";

export type SessionStoreOptions = SqliteStoreOptions | { readonly url: string; readonly schema?: string };

/**
 * The store of a whole home, for administration: it reads and changes the sessions of all users. `bindStore` makes one for a single
 * user, or for the owner of the home.
 */
export async function openSessionStore(options: SessionStoreOptions): Promise<SessionStore> {
  if ("url" in options) {
    throw new HermesError("session-backend-missing", "This version stores sessions in SQLite files only.", {
      hint: "Pass { path } instead of { url }.",
    });
  }
  const { openSqliteStore } = await import("./sqlite/store.ts");
  return openSqliteStore(options);
}
