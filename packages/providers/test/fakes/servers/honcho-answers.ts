// What the calls of a fake Honcho have in common: reading a request, and the shapes of the answers.
import type { z } from "zod";
import type { FakeReply } from "./fake-server.ts";
import { type Message, type Peer, type Session, tokensOf, type Workspace } from "./honcho-store.ts";
import {
  bodies,
  invalidValue,
  type Page,
  parse,
  parsePathId,
  queries,
  type Selection,
} from "./honcho-wire.ts";
import { type Call, Refusal } from "./routes.ts";

// ---- Requests

export function bodyOf<T>(call: Call, schema: z.ZodType<T>, query: z.ZodType<unknown> = queries.none): T {
  queryOf(call, query);
  return parse(schema, call.request.body, "body");
}

export function queryOf<T>(call: Call, schema: z.ZodType<T>): T {
  return parse(schema, call.request.query, "query");
}

export function pathId(call: Call, name: string): string {
  return parsePathId(name, call.params[name] ?? "");
}

export function jsonObject(text: string | undefined, field: string): Record<string, unknown> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // refused below
  }
  throw invalidValue(`${field} must be a JSON object`, ["body", field]);
}

export function asked({ search_query, max_conclusions, search_top_k }: Selection) {
  return { query: search_query, limit: search_query ? (search_top_k ?? max_conclusions) : max_conclusions };
}

// ---- Answers

export function ok(body: unknown): FakeReply {
  return { status: 200, body };
}

/** The answer of a call that reads or creates. */
export function got(isNew: boolean, body: unknown): FakeReply {
  return { status: isNew ? 201 : 200, body };
}

export function missing(detail: string): Refusal {
  return new Refusal({ status: 404, body: { detail } });
}

type Described = { metadata: Record<string, unknown>; configuration: Record<string, unknown> };

export function merge<T extends Described>(
  kept: T,
  { metadata, configuration }: { [Key in keyof Described]?: Described[Key] | null | undefined },
): T {
  if (metadata) kept.metadata = metadata;
  if (configuration) kept.configuration = configuration;
  return kept;
}

/** The body is read before anything is created. */
export function update<T extends Described>(call: Call, find: () => T): T {
  const body = bodyOf(call, bodies.update);
  return merge(find(), body);
}

export function workspaceView({ id, metadata, configuration, created_at }: Workspace) {
  return { id, metadata, configuration, created_at };
}

export function peerView({ id: workspace_id }: Workspace, { id, created_at, metadata, configuration }: Peer) {
  return { id, workspace_id, created_at, metadata, configuration };
}

export function sessionView({ id: workspace_id }: Workspace, session: Session) {
  const { id, isActive: is_active, metadata, configuration, created_at } = session;
  return { id, is_active, workspace_id, metadata, configuration, created_at };
}

export function summaryView({ summary, messages, created_at }: Session) {
  if (summary === undefined) return null;
  const message_id = messages.at(-1)?.id ?? "";
  return { content: summary, message_id, summary_type: "short", created_at, token_count: tokensOf(summary) };
}

export function newestWithin(messages: readonly Message[], tokens: number): readonly Message[] {
  let left = tokens;
  let start = messages.length;
  while (start > 0 && (messages[start - 1]?.token_count ?? 0) <= left) {
    start -= 1;
    left -= messages[start]?.token_count ?? 0;
  }
  return messages.slice(start);
}

export function paged(call: Call, all: readonly object[]): FakeReply {
  const { page = 1, size = 50, reverse = false }: Page = queryOf(call, queries.page);
  const filters =
    call.request.method === "GET" ? undefined : parse(bodies.list, call.request.body, "body").filters;
  const chosen = filtered(all, filters);
  const ordered = reverse ? chosen.toReversed() : chosen;
  const items = ordered.slice((page - 1) * size, page * size);
  return ok({ items, total: chosen.length, page, size, pages: Math.ceil(chosen.length / size) });
}

/** Filters are equal values of fields; `metadata` compares only the keys it has. A field that no item could have is refused. */
export function filtered<T extends object>(
  items: readonly T[],
  filters: Record<string, unknown> | null | undefined,
): readonly T[] {
  const known = [
    "id",
    "peer_id",
    "session_id",
    "observer_id",
    "observed_id",
    "is_active",
    "metadata",
    "created_at",
  ];
  for (const key of Object.keys(filters ?? {}))
    if (!known.includes(key))
      throw invalidValue(`${key} is not a field to filter by`, ["body", "filters", key]);
  return items.filter((item) => contains(item, filters ?? {}));
}

function contains(item: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return item === wanted;
  if (typeof item !== "object" || item === null) return false;
  return Object.entries(wanted).every(([key, value]) =>
    contains((item as Record<string, unknown>)[key], value),
  );
}
