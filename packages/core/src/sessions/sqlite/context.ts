// What every group of store operations works with.
import type { Clock } from "../../lib/index.ts";
import { readScope, type Scope } from "../identity.ts";
import type { Connection } from "./connection.ts";
import type { SearchIndex } from "./index/search-index.ts";

export type StoreContext = {
  readonly connection: Connection;
  readonly index: SearchIndex;
  readonly clock: Clock;
  /** The profile whose home the file is in; null outside of any. Today's original lists by it. */
  readonly profile: string | null;
  /** One line about data that could not be read as it should; never holds any of it. */
  warn(message: string): void;
};

/** Seconds since 1970 with a fraction, as all times in the database. */
export function seconds(clock: Clock): number {
  return clock.now().getTime() / 1000;
}

/** The values bound to `:user` and `:platform` (`isVisible`): NULL means everybody, and every platform. */
export function visibleTo(scope: Scope | undefined): Visible {
  const { userId = null, userPlatform = null } = readScope(scope);
  return { user: userId, platform: userPlatform };
}

export type Visible = { readonly user: string | null; readonly platform: string | null };

export const EVERYBODY: Visible = { user: null, platform: null };

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
