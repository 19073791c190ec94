// The numbered list of recent sessions, and what its numbers stand for until another list is shown.
import {
  INTERNAL_SOURCES,
  type ListedSession,
  type SessionStore,
  scopeOfUser,
} from "@hermes-memory/core/sessions";
import type { AgentSurface } from "../surface.ts";
import { counted, localMinute, short } from "./format.ts";

export const LISTED = 10;
const NAME_CHARS = 60;

type Shown = {
  readonly ids: readonly string[];
  /** The next line that is a number alone chooses from it. */
  readonly isOpen: boolean;
};

/** By agent, because that is what the lines of one conversation have in common. */
const shown = new WeakMap<AgentSurface, Shown>();

/** Conversations of the agent's user, the most recently active first; runs of subagents and empty ones left out. */
export function recentSessions(
  agent: AgentSurface,
  store: SessionStore,
  limit: number,
): Promise<ListedSession[]> {
  return store.listSessionsRich({
    ...scopeOfUser(agent.user),
    limit,
    orderByLastActive: true,
    minMessageCount: 1,
    excludeSources: INTERNAL_SOURCES,
  });
}

export function rememberList(agent: AgentSurface, sessions: readonly ListedSession[], isOpen: boolean): void {
  shown.set(agent, { ids: sessions.map(({ id }) => id), isOpen });
}

export function forgetList(agent: AgentSurface): void {
  shown.delete(agent);
}

/** What the numbers of the list last shown stand for, in order. */
export function listedIds(agent: AgentSurface): readonly string[] | undefined {
  return shown.get(agent)?.ids;
}

/** The ids to choose from when a number alone may do it. It may once: whatever the line is, the next one may not. */
export function takeOpenList(agent: AgentSurface): readonly string[] | undefined {
  const list = shown.get(agent);
  if (!list?.isOpen) return undefined;
  shown.set(agent, { ...list, isOpen: false });
  return list.ids;
}

export function sessionLines(agent: AgentSurface, sessions: readonly ListedSession[]): string[] {
  const width = String(sessions.length).length;
  return sessions.map((session, index) => {
    const { id, title, preview, last_active, message_count } = session;
    const name = title ?? (preview === "" ? "(untitled)" : preview);
    const mark = id === agent.sessionId ? "  (this one)" : "";
    const number = String(index + 1).padStart(width);
    return `  ${number}  ${localMinute(last_active)}  ${short(name, NAME_CHARS)}  ${id}, ${counted(message_count, "message")}${mark}`;
  });
}

export function sessionJson(agent: AgentSurface, sessions: readonly ListedSession[]): object[] {
  return sessions.map(({ id, title, preview, source, last_active, message_count }, index) => ({
    number: index + 1,
    id,
    title,
    preview,
    source,
    last_active,
    message_count,
    is_current: id === agent.sessionId,
  }));
}
