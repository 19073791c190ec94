// How the Mem0 platform writes memories, pages and refusals.
import type { FakeReply, SeenRequest } from "./fake-server.ts";
import type { Mem0Memory } from "./mem0-memories.ts";
import { type Fields, fieldProblem } from "./strict.ts";

export function toWire({ createdAtMs, updatedAtMs, ...memory }: Mem0Memory) {
  return { ...memory, created_at: wireTime(createdAtMs), updated_at: wireTime(updatedAtMs) };
}

/** The platform writes times of the Pacific coast, with microseconds. */
export function wireTime(ms: number): string {
  return new Date(ms - 8 * 3_600_000).toISOString().replace("Z", "000-08:00");
}

export function pageOf<T>(items: readonly T[], query: SeenRequest["query"]): readonly T[] {
  const { page, size } = pageIn(query);
  return items.slice((page - 1) * size, page * size);
}

function pageIn(query: SeenRequest["query"]): { readonly page: number; readonly size: number } {
  return { page: Number(query.page ?? 1), size: Number(query.page_size ?? 100) };
}

export function invalid(error: string, message: string): FakeReply {
  return { status: 400, body: { error, details: { message } } };
}

/** The fields beside the results of a page. */
export function pageLinks(address: string, query: SeenRequest["query"], count: number) {
  const { page, size } = pageIn(query);
  const link = (to: number) => `${address}?page=${to}&page_size=${size}`;
  return {
    count,
    next: page * size < count ? link(page + 1) : null,
    previous: page > 1 ? link(page - 1) : null,
  };
}

/** The refusal of a body or a query with a wrong field; undefined: all are right. */
export function refused(fields: unknown, required: Fields, optional: Fields = {}): FakeReply | undefined {
  const problem = fieldProblem(fields, required, optional);
  return problem === undefined ? undefined : invalid("Invalid request", problem.message);
}
