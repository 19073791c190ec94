// Whose agent it is. `userId` and `user` are two ways to say the same: either binds files, sessions, search, titles, staged writes
// and the provider's identity to that user on that platform. Neither: the owner of the home, who sees every session.
import type { MemoryUser } from "@hermes-memory/core/curated";
import { HermesError } from "@hermes-memory/core/lib";
import type { AgentOptions } from "../options.ts";

export type Binding = {
  /** Where the agent works: the source of its sessions. */
  readonly platform: string;
  /** Undefined: the owner. */
  readonly user: MemoryUser | undefined;
};

/** Throws `bad-user-id` for an option without a value, and `user-mismatch` where the two options disagree. */
export function bindUser(options: AgentOptions, defaultPlatform: string): Binding {
  const user = "user" in options ? givenUser(options.user) : undefined;
  const platform = options.platform ?? user?.platform ?? defaultPlatform;
  if (!("userId" in options)) return { platform, user };
  const named = { platform, userId: idText(options.userId, "userId") };
  if (user !== undefined && (user.userId !== named.userId || user.platform !== named.platform))
    throw new HermesError(
      "user-mismatch",
      `The options userId ('${named.userId}' on ${named.platform}) and user ('${user.userId}' on ${user.platform}) name two users.`,
      { hint: "Pass one of them, or the same user in both." },
    );
  return { platform, user: named };
}

function givenUser(user: unknown): MemoryUser {
  if (typeof user !== "object" || user === null) throw nobody("user", user);
  const { platform, userId } = user as Record<string, unknown>;
  if (typeof platform !== "string" || platform === "") throw nobody("user.platform", platform);
  return { platform, userId: idText(userId, "user.userId") };
}

/** Platforms number their users. */
function idText(id: unknown, option: string): string {
  if (typeof id === "string" && id !== "") return id;
  if (typeof id === "bigint" || (typeof id === "number" && Number.isSafeInteger(id))) return String(id);
  throw nobody(option, id);
}

/** A caller that has lost its user must not get the owner's memory for it. */
function nobody(option: string, value: unknown): HermesError {
  const what = value === "" ? "an empty text" : value === null || value === undefined ? value : typeof value;
  return new HermesError("bad-user-id", `The option ${option} was passed as ${what}, which names no user.`, {
    hint: "Leave the option out for the owner of the home, or pass the user's platform and id.",
  });
}
