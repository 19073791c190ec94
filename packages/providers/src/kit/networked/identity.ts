// Who a memory belongs to at a server. Servers know ids of letters and digits; our users have a platform and an id with any character.
// Two users never get the same id: where characters had to be replaced, a hash of the original is appended.
import { codePointLength, sha256, takeCodePoints } from "@hermes-memory/core/internal/lib";

/**
 * How users are kept apart at the server:
 * - `platform` (default): by platform and id together
 * - `id`: by id alone, as the Python edition does; the same id on two platforms is one user
 * - `shared`: not at all
 */
export type UserScope = "platform" | "id" | "shared";

export const USER_SCOPES: readonly UserScope[] = ["platform", "id", "shared"];

/** The user's name for the server, before it is made to fit; undefined for the owner of the home and for a shared memory. */
export function remoteUser(
  { platform = "cli", user_id }: { readonly platform?: string; readonly user_id?: string },
  scope: UserScope,
): string | undefined {
  if (user_id === undefined || user_id === "" || scope === "shared") return undefined;
  return scope === "id" ? user_id : userText(platform, user_id);
}

/** The user's lane in the outbox, whatever the scope: "" for the owner of the home. */
export function laneUser({
  platform = "cli",
  user_id,
}: {
  readonly platform?: string;
  readonly user_id?: string;
}): string {
  return user_id === undefined || user_id === "" ? "" : userText(platform, user_id);
}

/** The user whose lane this is; undefined for the owner of the home, and for a text that `laneUser` does not make. */
export function userOfLane(text: string): { readonly platform: string; readonly id: string } | undefined {
  const at = text.indexOf(":");
  if (at === -1 || at === text.length - 1) return undefined;
  const platform = text.slice(0, at).replace(/%(?:3A|25)/g, (escaped) => (escaped === COLON ? ":" : "%"));
  return { platform, id: text.slice(at + 1) };
}

const COLON = "%3A";

/** The first colon ends the platform, so one that belongs to it is escaped: "telegram:42" is platform "telegram", id "42". */
function userText(platform: string, id: string): string {
  return `${platform.replaceAll("%", "%25").replaceAll(":", COLON)}:${id}`;
}

export type IdRules = {
  /** Matches one character that the server does not take. */
  readonly foreign: RegExp;
  readonly replacement: string;
  readonly maxChars: number;
};

const HASH_DIGITS = 12;

/**
 * An id the server takes. Ids that needed no change stay as they are; every other gets a hash of the original at its end. So does an id that
 * looks as if it had one: a user who can choose their id cannot take that of another.
 */
export function safeId(text: string, { foreign, replacement, maxChars }: IdRules): string {
  const replaced = text.replace(new RegExp(foreign.source, "gu"), replacement);
  const looksHashed = text.at(-HASH_DIGITS - 1) === replacement && /[0-9a-f]{12}$/.test(text);
  if (replaced === text && text !== "" && !looksHashed && codePointLength(text) <= maxChars) return text;
  const head = takeCodePoints(replaced, maxChars - HASH_DIGITS - 1);
  return `${head}${replacement}${sha256(text).slice(0, HASH_DIGITS)}`;
}
