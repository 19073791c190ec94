// The index of live sessions: which session a conversation is in now, when somebody last spoke in it, and whether its end was told to the
// memory provider. A table of ours in the home's database, so that a restarted server knows what the one before left. The only file that
// knows where it is kept.
import type { Home, Person, UserMemory } from "@hermes-memory/core/internal/memory";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";

export type LiveIndex = Pick<
  SessionStore,
  "saveLiveSession" | "getLiveSession" | "listLiveSessions" | "deleteLiveSession"
>;

export function liveIndexOf(home: Home): Promise<LiveIndex> {
  return home.administrator.sessions({ mode: "write", create: true });
}

/** Null user: the owner of the home. */
type KeyParts = readonly [platform: string | null, userId: string | null, chatId: string];

/** The user is part of it: two users may use the same chat id. */
export function liveKey(memory: UserMemory, chatId: string): string {
  const { user } = memory;
  return JSON.stringify([user?.platform ?? null, user?.id ?? null, chatId] satisfies KeyParts);
}

/** The person and the chat of a key; undefined for a key that `liveKey` did not make. */
export function fromLiveKey(
  home: Home,
  key: string,
): { readonly person: Person; readonly chatId: string } | undefined {
  try {
    const [platform, id, chatId] = JSON.parse(key) as KeyParts;
    if (typeof chatId !== "string") return undefined;
    if (platform === null && id === null) return { person: home.owner, chatId };
    return platform === null || id === null ? undefined : { person: home.user({ platform, id }), chatId };
  } catch {
    return undefined; // a key of another program
  }
}
