// What every group of store operations works with.
import type { Clock } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import type { Scope } from "../store.ts";
import type { Connection } from "./connection.ts";

export type StoreContext = {
  readonly connection: Connection;
  readonly clock: Clock;
  /** One line about data that could not be read as it should; never holds any of it. */
  warn(message: string): void;
};

/** Seconds since 1970 with a fraction, as all times in the database. */
export function seconds(clock: Clock): number {
  return clock.now().getTime() / 1000;
}

/**
 * The value bound to `:user`: NULL, everybody, only when no user was named. A caller that has lost its user must not see
 * the others' sessions for it.
 */
export function userOf(scope: Scope | undefined): string | null {
  const user: unknown = scope?.userId;
  return user === undefined ? null : userText(user);
}

/** Platforms number their users; the database knows texts. */
export function userText(user: unknown): string {
  if (typeof user === "string") return user;
  if (typeof user === "bigint" || (typeof user === "number" && Number.isSafeInteger(user)))
    return String(user);
  throw sessionError(
    "bad-user-id",
    `A user is named by a text, not by ${user === null ? "null" : typeof user}.`,
    {
      hint: "Leave userId out to see everybody's sessions, or pass the id of the user.",
    },
  );
}

/** A count from outside: whole, not negative, `fallback` when it is no number. */
export function count(value: number | null | undefined, fallback: number): number {
  if (typeof value !== "number" || Number.isNaN(value)) return fallback;
  return Math.min(Math.max(0, Math.trunc(value)), Number.MAX_SAFE_INTEGER);
}

/** A quantity from outside; null when it is no number that can be stored or added to. */
export function finite(value: number | null | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

/** Ids that cannot exist cannot be found either; only making one is refused. */
export function isPossibleId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.isWellFormed();
}
