// Opens a session store. The backend is imported on first use, because loading SQLite costs start-up time.
import { HermesError } from "../lib/index.ts";
import { sessionError } from "./errors.ts";
import { type Scope, WITHOUT_USER } from "./identity.ts";
import type { SqliteStoreOptions } from "./sqlite/options.ts";
import type { HomeStore, SessionStore } from "./store.ts";

/** The file of the database, and how it is opened. Servers (`url`) are not supported yet. */
export type SessionStoreOptions = SqliteStoreOptions | { readonly url: string; readonly schema?: string };

/**
 * The store of a whole home, for administration: it reads and changes the sessions of all users. Its `forUser` gives the store of a single
 * user, or of the owner of the home.
 */
export async function openSessionStore(options: SessionStoreOptions): Promise<HomeStore> {
  if ("url" in options) {
    throw new HermesError("session-backend-missing", "This version stores sessions in SQLite files only.", {
      hint: "Pass { path } instead of { url }.",
    });
  }
  const { openSqliteStore } = await import("./sqlite/store.ts");
  return openSqliteStore(options);
}

/** The store of the person that the scope names; the same one if it names nobody, or if it is a person's already. */
export function narrowed(store: HomeStore | SessionStore, scope: Scope): SessionStore {
  const { userId, userPlatform, withoutUser } = scope;
  if (userId === undefined && withoutUser === undefined) return store;
  if (!("forUser" in store)) {
    const { scope: own } = store;
    if (own.userId === userId && own.userPlatform === userPlatform && own.withoutUser === withoutUser)
      return store;
    throw sessionError("bad-user-id", "This is the store of one person, and another one was passed.", {
      hint: "Leave the user out, or use the store of the whole home.",
    });
  }
  return store.forUser(
    withoutUser ? WITHOUT_USER : { platform: userPlatform as string, userId: userId as string }, // refused if one is missing
  );
}
