// The index of live sessions: which session a conversation is in now, when somebody last spoke in it, and whether its end was told to the
// memory provider. A table of ours in the home's database, so that a restarted server knows what the one before left. The only file that
// knows where it is kept.
import type { Home, Person, UserMemory } from "@hermes-memory/core/internal/memory";

export type LiveSession = {
  /** `liveKey`: names the conversation among those of all users of the home. */
  readonly key: string;
  readonly session_id: string;
  readonly source: string;
  /** Seconds since 1970, like the other times. */
  readonly started_at: number;
  readonly last_active_at: number;
  /** Of the newest request, as the model's server counted it; 0: not known. */
  readonly last_prompt_tokens: number;
  /** When the provider was told of the end. Null: it was not, or somebody has spoken since. */
  readonly finalized_at: number | null;
  /** Why the session before it ended. */
  readonly reset_reason: string | null;
};

export interface LiveIndex {
  saveLiveSession(live: LiveSession): Promise<void>;
  getLiveSession(key: string): Promise<LiveSession | null>;
  listLiveSessions(): Promise<readonly LiveSession[]>;
  deleteLiveSession(key: string): Promise<unknown>;
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

const inMemory = new WeakMap<Home, LiveIndex>();

/** In the database of the home, or, for a store without such a table, in this process. */
export async function liveIndexOf(home: Home): Promise<LiveIndex> {
  const store: object = await home.administrator.sessions({ mode: "write", create: true });
  if (isLiveIndex(store)) return store;
  const known = inMemory.get(home) ?? memoryIndex();
  inMemory.set(home, known);
  return known;
}

function isLiveIndex(store: object): store is LiveIndex {
  return "saveLiveSession" in store && typeof store.saveLiveSession === "function";
}

function memoryIndex(): LiveIndex {
  const rows = new Map<string, LiveSession>();
  return {
    saveLiveSession: async (live) => void rows.set(live.key, live),
    getLiveSession: async (key) => rows.get(key) ?? null,
    listLiveSessions: async () => [...rows.values()],
    deleteLiveSession: async (key) => rows.delete(key),
  };
}
