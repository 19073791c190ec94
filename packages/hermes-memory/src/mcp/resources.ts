// The resources of the server: the memory blocks, the list of recent sessions, and each session as text.

import { MEMORY_TARGETS } from "@hermes-memory/core/curated";
import { HIDDEN_SOURCES, type ListedSession, type SessionStore } from "@hermes-memory/core/sessions";
import type { ReadResourceResult, Resource, ResourceTemplate } from "@modelcontextprotocol/sdk/types.js";
import { enabledTargets, readBlocks } from "./curated.ts";
import type { Dependencies } from "./dependencies.ts";
import { resourceNotFound } from "./refusal.ts";
import { conversationText } from "./session-text.ts";

const SESSIONS = "hermes://sessions";
const RECENT_SESSIONS = 50;

const MEMORY_RESOURCES: Readonly<Record<(typeof MEMORY_TARGETS)[number], Resource>> = {
  memory: {
    uri: "hermes://memory/memory",
    name: "memory",
    title: "Memory: the agent's notes",
    description: "Environment, conventions and lessons that earlier sessions wrote down.",
    mimeType: "text/plain",
  },
  user: {
    uri: "hermes://memory/user",
    name: "user",
    title: "Memory: the user's profile",
    description: "Who the user is and what they prefer.",
    mimeType: "text/plain",
  },
};

const SESSION_LIST: Resource = {
  uri: SESSIONS,
  name: "sessions",
  title: "Recent sessions",
  description: `The ${RECENT_SESSIONS} most recently active conversations, with the address of each.`,
  mimeType: "application/json",
};

export const SESSION_TEMPLATE: ResourceTemplate = {
  uriTemplate: `${SESSIONS}/{id}`,
  name: "session",
  title: "A past session",
  description: "One conversation as text; the middle of a long one is left out.",
  mimeType: "text/plain",
};

export async function listResources(deps: Dependencies): Promise<Resource[]> {
  const targets = await enabledTargets(deps);
  return [...targets.map((target) => MEMORY_RESOURCES[target]), SESSION_LIST];
}

export async function readResource(uri: string, deps: Dependencies): Promise<ReadResourceResult> {
  const target = MEMORY_TARGETS.find((each) => MEMORY_RESOURCES[each].uri === uri);
  if (target !== undefined) {
    if (!(await enabledTargets(deps)).includes(target))
      throw resourceNotFound(`The target '${target}' is switched off in the config of this home.`);
    return text(
      uri,
      "text/plain",
      (await deps.inOrder(() => readBlocks(deps))).get(target) ?? "Nothing is remembered here yet.",
    );
  }
  if (uri === SESSIONS)
    return text(uri, "application/json", JSON.stringify(await recentSessions(deps), null, 2));
  const id = uri.startsWith(`${SESSIONS}/`) ? decoded(uri.slice(SESSIONS.length + 1)) : undefined;
  if (id === undefined || id === "")
    throw resourceNotFound("There is no such resource. 'resources/list' names those there are.");
  return text(uri, "text/plain", await deps.memory.owner.withSessions((store) => readSession(store, id)));
}

async function recentSessions({ memory }: Dependencies): Promise<object> {
  const rows = await memory.owner.withSessions(async (store) =>
    store?.listSessionsRich({
      limit: RECENT_SESSIONS,
      orderByLastActive: true,
      excludeSources: HIDDEN_SOURCES,
    }),
  );
  if (rows === undefined) return { sessions: [], message: "There is no session database in this home yet." };
  return { sessions: rows.map(listed) };
}

function listed({
  id,
  title,
  source,
  started_at,
  last_active,
  message_count,
  preview,
}: ListedSession): object {
  const uri = `${SESSIONS}/${encodeURIComponent(id)}`;
  return { session_id: id, title, source, started_at, last_active, message_count, preview, uri };
}

async function readSession(store: SessionStore | undefined, asked: string): Promise<string> {
  if (store === undefined) throw resourceNotFound("There is no session database in this home yet.");
  const id = await store.resolveSessionId(asked);
  const session = id === null ? null : await store.getSession(id);
  if (session === null)
    throw resourceNotFound(
      "No session has this id, or several begin with it. hermes://sessions lists the recent ones.",
    );
  return conversationText(session, await store.getMessages(session.id));
}

function text(uri: string, mimeType: string, content: string): ReadResourceResult {
  return { contents: [{ uri, mimeType, text: content }] };
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
