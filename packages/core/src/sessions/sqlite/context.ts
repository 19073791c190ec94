// What every group of store operations gets: the file, and whose sessions exist here.
import { type Clock, HermesError, sha256 } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import { readScope, type Scope, type SessionUser, type WITHOUT_USER } from "../identity.ts";
import {
  ALL_USERS,
  type Connection,
  isVisible,
  userPlatform,
  type Visible,
  visibleTo,
  type WriteOptions,
} from "./connection.ts";
import type { SearchIndex } from "./index/search-index.ts";

export type StoreContext = {
  readonly connection: Connection;
  readonly index: SearchIndex;
  readonly clock: Clock;
  /** The profile whose home contains the file; null when it is in none. Newer versions of Hermes Agent list sessions by it. */
  readonly profile: string | null;
  /** Reports unreadable data in one line that contains none of it. */
  warn(message: string): void;
  readonly person: Person;
};

/** Whose sessions exist in a store. */
export type Person = {
  readonly scope: Scope;
  readonly visible: Visible;
  /** Absent: everybody, or the owner of the home. */
  readonly user?: SessionUser;
};

export const EVERYBODY: Person = { scope: {}, visible: ALL_USERS };

/** Throws `bad-user-id` if it names nobody. */
export function onePerson(who: SessionUser | typeof WITHOUT_USER | undefined): Person {
  if (who && "withoutUser" in who) return { scope: readScope(who), visible: visibleTo(who) };
  const { platform, userId } = (who ?? {}) as Partial<SessionUser>;
  const scope = readScope({ userId, userPlatform: platform } as Scope);
  const user = { platform: scope.userPlatform as string, userId: scope.userId as string };
  return { scope, visible: visibleTo(scope), user };
}

export function isEverybody({ visible }: Person): boolean {
  return visible.user === null;
}

const IS_THERE = `SELECT 1 FROM sessions s WHERE s.id = :id AND ${isVisible("s")}`;
const IS_STORED = "SELECT 1 FROM sessions WHERE id = :id";

const OWNER = `SELECT user_id AS user, ${userPlatform("s")} AS platform FROM sessions s WHERE id = :id`;

/** Inside a transaction: whose session it is, from the row; undefined if there is none. */
export function ownerOf(connection: Connection, id: string): Visible | undefined {
  const owner = connection.get<Visible>(OWNER, { id });
  return owner && { ...owner };
}

/** Inside a transaction. */
export function sees({ connection, person }: StoreContext, id: unknown): boolean {
  return typeof id === "string" && connection.get(IS_THERE, { id, ...person.visible }) !== undefined;
}

export function isStored(connection: Connection, id: string): boolean {
  return connection.get(IS_STORED, { id }) !== undefined;
}

/** `purpose`: what the session is needed for. */
export function requireStored(connection: Connection, id: string, purpose = ""): void {
  if (isStored(connection, id)) return;
  throw sessionError("unknown-session", `There is no session '${id}'${purpose}.`, {
    hint: "Create it first with createSession.",
  });
}

/** Inside a transaction: another person has a session with this id. */
export function isOthers(context: StoreContext, id: unknown): boolean {
  if (isEverybody(context.person) || typeof id !== "string" || sees(context, id)) return false;
  return isStored(context.connection, id);
}

/**
 * Stands for a session that does not exist for the person: an id that no session has, always the same one for the same id. What is stored
 * under it, such as a lease, belongs to the session as soon as the person creates it.
 */
export function unseen({ user }: Person, id: string): string {
  const { platform = null, userId = null } = user ?? {};
  return `unseen-${sha256(JSON.stringify([platform, userId, id])).slice(0, 32)}`;
}

/** Inside a transaction. */
export function idFor(context: StoreContext, id: string): string {
  if (isEverybody(context.person) || id === "" || sees(context, id)) return id;
  return unseen(context.person, String(id)); // SQLite would take a number for the text of an id
}

/**
 * One transaction about a session. If it is another person's, `work` gets an id that no session has, so that it does what it does for an
 * unknown id; its errors name the id that was asked for.
 */
export async function writeTo<T>(
  context: StoreContext,
  id: string,
  work: (id: string) => T,
  options?: WriteOptions,
): Promise<T> {
  try {
    return await context.connection.write(() => work(idFor(context, id)), options);
  } catch (cause) {
    if (!(cause instanceof HermesError) || isEverybody(context.person)) throw cause;
    const none = unseen(context.person, String(id));
    const { code, message, hint } = cause;
    throw new HermesError(code, message.replaceAll(none, String(id)), {
      hint: hint?.replaceAll(none, String(id)),
      cause: cause.cause,
    });
  }
}
