// Whose sessions a read may see, and whose a new session is. A key that is there without a value is a caller that has lost its user: an error, never everybody.
import { isDistinctName } from "../home.ts";
import { sessionError } from "./errors.ts";

/**
 * Absent `userId`: everybody's sessions, those without an owner included. With it: the sessions of that user alone. The key
 * must not be passed with `undefined`: a read then rejects with `bad-user-id`.
 */
export type Scope = {
  readonly userId?: string;
  /**
   * The platform `userId` belongs to: the same id on two platforms is two people. Absent: that id on every platform. Only
   * together with `userId`.
   */
  readonly userPlatform?: string;
};

/** Which part of a list a read gives. */
export type Page = { readonly limit?: number; readonly offset?: number };

/** A user as sessions know one. */
export type SessionUser = { readonly platform: string; readonly userId: string };

/** Undefined: the owner of the home, who sees everything. */
export function scopeOfUser(user: SessionUser | undefined): Scope {
  return user === undefined ? {} : { userId: user.userId, userPlatform: user.platform };
}

/** The scope in an options object, checked. Throws `bad-user-id`. */
export function readScope(options: Scope | null | undefined): Scope {
  return scopeIn(options ?? {}, "to read everybody's rows");
}

/** Whose a new session is to be: nobody's, or its parent's, without a key and with null. Throws `bad-user-id`. */
export function readOwner(options: {
  readonly userId?: string | null;
  readonly userPlatform?: string;
}): Scope {
  const { userId, ...others } = options;
  return scopeIn(userId === null ? others : options, "for a session without an owner, or with its parent's");
}

function scopeIn(
  given: { readonly userId?: unknown; readonly userPlatform?: unknown },
  without: string,
): Scope {
  if (!("userId" in given)) {
    if (!("userPlatform" in given)) return {};
    throw sessionError("bad-user-id", "userPlatform was passed without userId, so it names no user.", {
      hint: `Pass both, or leave both out ${without}.`,
    });
  }
  const userId = userText(given.userId, without);
  return "userPlatform" in given ? { userId, userPlatform: platformText(given.userPlatform) } : { userId };
}

/** Platforms number their users; the database knows texts. */
function userText(user: unknown, without: string): string {
  if (typeof user === "string") return distinct("userId", user);
  if (typeof user === "bigint" || (typeof user === "number" && Number.isSafeInteger(user)))
    return String(user);
  throw sessionError("bad-user-id", `userId was passed as ${kindOf(user)}, which names no user.`, {
    hint: `Leave the key out ${without}, or pass the user's id.`,
  });
}

function platformText(platform: unknown): string {
  if (typeof platform === "string") return distinct("userPlatform", platform);
  throw sessionError(
    "bad-user-id",
    `userPlatform was passed as ${kindOf(platform)}, which names no platform.`,
    { hint: "Leave the key out, or pass the platform's name." },
  );
}

/** Two users whose names are stored alike would be one. */
function distinct(key: string, text: string): string {
  if (isDistinctName(text)) return text;
  const message = `${key} contains U+0000 or half of a surrogate pair, so it cannot be told from other ones.`;
  throw sessionError("bad-user-id", message, {
    hint: "Pass it as the platform has it, as well-formed text.",
  });
}

function kindOf(value: unknown): string {
  return value === null || value === undefined ? String(value) : `a value of type ${typeof value}`;
}
