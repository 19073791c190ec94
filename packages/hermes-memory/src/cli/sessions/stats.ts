// stats, path.
import type { StoreStats } from "@hermes-memory/core/sessions";
import type { CommandBody } from "../command.ts";
import { databasePath, noDatabaseNote, openSessions } from "./open-store.ts";
import { flat, megabytes } from "./table.ts";

const NOTHING: StoreStats = {
  sessions: 0,
  archived: 0,
  messages: 0,
  oldestStartedAt: null,
  sources: [],
  bytes: 0,
  index: "missing",
};

const INDEXES: Record<StoreStats["index"], string> = {
  ready: "ready",
  building: "being built; 'hermes sessions optimize' finishes it now",
  missing: "none yet; the first command that writes to this file builds it",
};

export const stats: CommandBody = async (_input, context) => {
  const store = await openSessions(context, "read");
  const counts = store ? await store.stats() : NOTHING;
  const { oldestStartedAt: oldest_started_at, ...named } = counts;
  const { sessions, archived, messages, sources, bytes, index } = named;
  return {
    json: { path: databasePath(context), exists: store !== undefined, ...named, oldest_started_at },
    lines: [
      `Total sessions: ${sessions}`,
      ...(archived > 0 ? [`Archived sessions: ${archived}`] : []),
      `Total messages: ${messages}`,
      ...sources.map((each) => `  ${flat(each.source)}: ${each.sessions} sessions`),
      `Database size: ${megabytes(bytes)} MB`,
      ...(store ? [`Search index: ${INDEXES[index]}`] : []),
    ],
    notes: store ? [] : [noDatabaseNote(context)],
  };
};

export const path: CommandBody = (_input, context) => {
  const location = databasePath(context);
  return { json: { path: location }, lines: [location] };
};
