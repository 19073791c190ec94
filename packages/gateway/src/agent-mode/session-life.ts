// The life of a session: which one a conversation is in, when it has expired, and what happens then. A session that a session key names is
// followed by a new one; every other conversation goes on under its id. In both cases the memory provider is told of the end once, with
// the stored transcript, whether or not an agent is live.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { type Clock, describeCause } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { Home, Person, UserMemory } from "@hermes-memory/core/internal/memory";
import { fromRow } from "@hermes-memory/core/internal/message";
import { chooseTimeZone } from "@hermes-memory/core/internal/prompt";
import { type GatewayRecords, type LiveSession, newSessionId } from "@hermes-memory/core/internal/sessions";
import type { Gateway, ModelTurn } from "../types.ts";

// ---- Which session a conversation is in now, in a table of ours: a restarted server knows what the one before left ----

export type LiveIndex = Pick<
  GatewayRecords,
  "saveLiveSession" | "getLiveSession" | "listLiveSessions" | "deleteLiveSession"
>;

export async function liveIndexOf(home: Home): Promise<LiveIndex> {
  return (await home.administrator.sessions({ mode: "write", create: true })).gateway;
}

/** Null user: the owner of the home. */
type KeyParts = readonly [platform: string | null, userId: string | null, chatId: string];

/** The user is part of it: two users may use the same chat id. */
export function liveKey({ user }: UserMemory, chatId: string): string {
  return JSON.stringify([user?.platform ?? null, user?.id ?? null, chatId] satisfies KeyParts);
}

/** Undefined for a key that `liveKey` did not make. */
export function fromLiveKey(home: Home, key: string): Ending | undefined {
  try {
    const [platform, id, chatId] = JSON.parse(key) as KeyParts;
    if (typeof chatId !== "string" || (platform === null) !== (id === null)) return undefined;
    const person = platform === null || id === null ? home.owner : home.user({ platform, id });
    const sessionKey = chatId.startsWith(KEY_PREFIX) ? chatId.slice(KEY_PREFIX.length) : undefined;
    return { person, chatId, sessionKey };
  } catch {
    return undefined; // a key of another program
  }
}

/** Of the chat ids of conversations that a session key names. */
const KEY_PREFIX = "key-";

/** Of a live agent: home and conversation. */
export function agentKey({ home }: Home, key: string): string {
  return `${home}\0${key}`;
}

// ---- When ----

export type ResetPolicy = HermesConfig["sessionReset"] & { readonly timeZone: string | undefined };
export type ExpiryReason = "idle" | "daily";

export function resetPolicy(
  { sessionReset, timezone }: Pick<HermesConfig, "sessionReset" | "timezone">,
  env: Gateway["env"],
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
  // Sweden writes 2026-03-01 04:00.
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  const [day = "", time = ""] = format.format(date).split(" ");
  return Date.parse(day) / 86_400_000 - (Number.parseInt(time, 10) < atHour ? 1 : 0);
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

type Ending = { readonly person: Person; readonly chatId: string; readonly sessionKey: string | undefined };

/** Tells the provider of the end, with what is stored. Throws if the provider cannot be reached. */
export async function finalise(
  person: Person,
  live: Pick<LiveSession, "session_id" | "source">,
  { chatId, sessionKey }: Pick<Ending, "chatId" | "sessionKey">,
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
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
      chat_id: chatId,
      ...(sessionKey === undefined ? {} : { gateway_session_key: sessionKey }),
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

/** The provider is told of the end, the old row ends, and the new one refers to it. Each step may be repeated after a kill. */
export async function beginNext(
  { gateway, memory, chatId, identity }: ModelTurn,
  index: LiveIndex,
  live: LiveSession,
): Promise<LiveSession> {
  const { clock, log, events } = gateway;
  const { sessionKey } = identity.session;
  if (live.finalized_at === null)
    await finalise(memory.layers, live, { chatId, sessionKey }, gateway).catch((cause: unknown) =>
      log.warn(notTold(live, cause)),
    );
  const now = clock.now().getTime() / 1000;
  const store = await memory.layers.sessions({ mode: "write", create: true });
  const old = await store.getNewestSession(live.session_id);
  if (old !== null) await store.endSession(old.id, "session_reset");
  const id = newSessionId(clock.now(), 8);
  await store.createSession(id, {
    source: live.source,
    ...(old === null ? {} : { parentSessionId: old.id, modelConfig: { _reset_from: old.id } }),
  });
  const times = { started_at: now, last_active_at: now, finalized_at: null, reset_reason: null };
  const next: LiveSession = { ...live, ...times, session_id: id, last_prompt_tokens: 0 };
  await index.saveLiveSession(next);
  const about = { user: identity.user, profile: identity.profile };
  events.emit({ type: "session-end", ...about, session_id: live.session_id });
  events.emit({ type: "session-start", ...about, session_id: id });
  return next;
}
