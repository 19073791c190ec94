// The life of a session: when it has expired, what happens then, and the watcher that looks for expired ones. A session that a
// session key names is followed by a new one; every other conversation goes on under its id. In both cases the memory provider is told
// of the end once, with the stored transcript, whether or not an agent is live.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { type Clock, describeCause } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { Home, Person, UserMemory } from "@hermes-memory/core/internal/memory";
import { fromRow } from "@hermes-memory/core/internal/message";
import { chooseTimeZone } from "@hermes-memory/core/internal/prompt";
import type { LiveSession, SessionStore } from "@hermes-memory/core/internal/sessions";

// ---- Which session a conversation is in now, in a table of ours: a restarted server knows what the one before left ----

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
function fromLiveKey(
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

// ---- When ----

export type ResetPolicy = HermesConfig["sessionReset"] & { readonly timeZone: string | undefined };
export type ExpiryReason = "idle" | "daily";

export function resetPolicy(
  { sessionReset, timezone }: Pick<HermesConfig, "sessionReset" | "timezone">,
  env: Readonly<Record<string, string | undefined>>,
): ResetPolicy {
  return { ...sessionReset, timeZone: chooseTimeZone({ env, configured: timezone }).timeZone };
}

/** Undefined: it goes on. */
export function expiryOf(
  { mode, idleMinutes, atHour, timeZone }: ResetPolicy,
  lastActiveSeconds: number,
  now: Date,
): ExpiryReason | undefined {
  const isIdle = now.getTime() / 1000 - lastActiveSeconds >= idleMinutes * 60;
  if ((mode === "idle" || mode === "both") && isIdle) return "idle";
  if (mode !== "daily" && mode !== "both") return undefined;
  const day = (date: Date): number => resetDay(date, atHour, timeZone);
  return day(new Date(lastActiveSeconds * 1000)) < day(now) ? "daily" : undefined;
}

/** Days since 1970 on the clocks of the zone, if a day began at `atHour`. */
function resetDay(date: Date, atHour: number, timeZone: string | undefined): number {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    hourCycle: "h23",
  }).formatToParts(date);
  const value = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((part) => part.type === type)?.value);
  const day = Date.UTC(value("year"), value("month") - 1, value("day")) / 86_400_000;
  return value("hour") < atHour ? day - 1 : day;
}

/** For the user, in the metadata of the next reply. */
export function resetNotice(reason: ExpiryReason, { idleMinutes, atHour }: ResetPolicy): string {
  const why =
    reason === "idle"
      ? `nothing was said for ${idleMinutes} minutes`
      : `a new day begins at ${String(atHour).padStart(2, "0")}:00`;
  return `A new session has begun, because ${why}. The one before is stored, and session search finds it.`;
}

// ---- The end of a session ----

export type LifeDeps = { readonly log: Logger; readonly clock: Clock };

/** Tells the provider of the end, with what is stored. Throws if the provider cannot be reached. */
export async function finalise(
  person: Person,
  live: Pick<LiveSession, "session_id" | "source">,
  chat: { readonly chatId: string; readonly sessionKey?: string | undefined },
  { log, clock }: LifeDeps,
): Promise<"told" | "nothing" | "gone"> {
  const store = await person.sessions({ mode: "write", create: true });
  if ((await store.getSession(live.session_id)) === null) return "gone";
  const sessionId = await store.getCompressionTip(live.session_id);
  const rows = await store.getMessages(sessionId);
  const messages = rows.map(fromRow).filter((message) => message !== undefined);
  if (messages.length === 0) return "nothing";
  const activation = await person.provider.activate({
    sessionId,
    log,
    clock,
    options: {
      platform: live.source,
      agent_context: "primary",
      agent_workspace: "hermes",
      chat_id: chat.chatId,
      ...(chat.sessionKey === undefined ? {} : { gateway_session_key: chat.sessionKey }),
    },
  });
  if (activation.kind === "unavailable")
    throw new Error(`The memory provider '${activation.name}' cannot be used: ${activation.reason}`);
  if (activation.kind !== "active") return "nothing";
  try {
    await activation.manager.onSessionEnd(messages);
  } finally {
    await person.provider.deactivate(activation.manager);
  }
  return "told";
}

export function notTold(
  { session_id: id }: Pick<LiveSession, "session_id">,
  cause: unknown,
  how = "",
): string {
  return `The end of session ${id} could not be told to the memory provider${how}: ${describeCause(cause)}`;
}

// ---- The watcher ----

export type WatcherDeps = LifeDeps & {
  /** The homes that are served now. */
  readonly homes: () => Promise<readonly { readonly home: Home; readonly live: LiveIndex }[]>;
  readonly policy: () => Promise<ResetPolicy>;
  /** Runs `work` after the agent of the conversation was closed, if no turn of it runs. */
  readonly whileIdle: (home: Home, key: string, work: () => Promise<void>) => Promise<void>;
  /** After every round. */
  readonly onRound?: () => void | Promise<void>;
  /** For every home, in the first round and then once a day. One that fails is tried again in the next round. */
  readonly daily?: (home: Home) => Promise<void>;
};

const FIRST_ROUND_MS = 60_000;
const BETWEEN_ROUNDS_MS = 300_000;
const DAY_MS = 86_400_000;
const MOST_FAILURES = 3;

/** Looks 60 seconds after the start for expired sessions, and then every 5 minutes. */
export class SessionWatcher {
  readonly #deps: WatcherDeps;
  readonly #failures = new Map<string, number>();
  /** When `daily` was done for a home. */
  readonly #dailyAtMs = new WeakMap<Home, number>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #isStopped = false;

  constructor(deps: WatcherDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#schedule(FIRST_ROUND_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  /** One round. Never rejects. */
  sweep(): Promise<void> {
    this.#round ??= this.#sweep().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  #schedule(ms: number): void {
    if (this.#isStopped) return;
    const round = (): void => void this.sweep().then(() => this.#schedule(BETWEEN_ROUNDS_MS));
    this.#timer = setTimeout(round, ms).unref();
  }

  async #sweep(): Promise<void> {
    const { homes, policy, log, onRound } = this.#deps;
    try {
      const rules = await policy();
      for (const { home, live } of await homes()) {
        for (const session of await live.listLiveSessions()) {
          if (this.#isStopped) return;
          await this.#look(home, live, session, rules);
        }
        await this.#daily(home);
      }
      await onRound?.();
    } catch (cause) {
      log.warn(`Looking for expired sessions failed: ${describeCause(cause)}`);
    }
  }

  async #daily(home: Home): Promise<void> {
    const { clock, log, daily } = this.#deps;
    const nowMs = clock.now().getTime();
    if (nowMs - (this.#dailyAtMs.get(home) ?? Number.NEGATIVE_INFINITY) < DAY_MS) return;
    try {
      await daily?.(home);
      this.#dailyAtMs.set(home, nowMs);
    } catch (cause) {
      log.warn(`Old traces of recall were not removed: ${describeCause(cause)}`);
    }
  }

  async #look(home: Home, index: LiveIndex, seen: LiveSession, policy: ResetPolicy): Promise<void> {
    const { clock, log, whileIdle } = this.#deps;
    const isExpired = (live: LiveSession): boolean =>
      live.finalized_at === null && expiryOf(policy, live.last_active_at, clock.now()) !== undefined;
    const found = isExpired(seen) ? fromLiveKey(home, seen.key) : undefined;
    if (found === undefined) return;
    const { person, chatId } = found;
    const id = `${home.home}\0${seen.key}\0${seen.session_id}`;
    await whileIdle(home, seen.key, async () => {
      const live = await index.getLiveSession(seen.key);
      if (live === null || !isExpired(live)) return; // somebody spoke meanwhile, or another server was faster
      const done = (): Promise<void> =>
        index.saveLiveSession({ ...live, finalized_at: clock.now().getTime() / 1000 });
      try {
        const sessionKey = chatId.startsWith(KEY_PREFIX) ? chatId.slice(KEY_PREFIX.length) : undefined;
        const outcome = await finalise(person, live, { chatId, sessionKey }, this.#deps);
        if (outcome === "gone") await index.deleteLiveSession(live.key);
        else await done();
        this.#failures.delete(id);
      } catch (cause) {
        const failures = (this.#failures.get(id) ?? 0) + 1;
        this.#failures.set(id, failures);
        const isLast = failures >= MOST_FAILURES;
        log.warn(notTold(live, cause, isLast ? `, ${failures} times; it is not tried again` : ""));
        if (!isLast) return;
        this.#failures.delete(id);
        await done();
      }
    });
  }
}

/** Of the chat ids of conversations that a session key names. */
const KEY_PREFIX = "key-";
