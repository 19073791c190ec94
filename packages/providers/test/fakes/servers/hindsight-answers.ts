// The answers of the fake Hindsight that only read a bank, and the shapes that all its answers share.
import { type Check, listOf, nullable, object, problemsOf, text } from "./body-check.ts";
import type { FakeReply, SeenRequest } from "./fake-server.ts";
import type { Bank, Fact, HindsightDocument, Operation } from "./hindsight-bank.ts";

export const NOT_FOUND: FakeReply = failure(404, "Not Found");
export const OTHER_OPERATION: FakeReply = failure(409, "operation_id belongs to another operation");
export const USAGE = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

export function ok(body: unknown): FakeReply {
  return { status: 200, body };
}

export function failure(status: number, detail: string): FakeReply {
  return { status, body: { detail } };
}

export function refuse(detail: readonly unknown[]): FakeReply {
  return { status: 422, body: { detail } };
}

export function invalid(body: unknown, check: Check): FakeReply | undefined {
  const problems = problemsOf(body, check);
  return problems.length === 0 ? undefined : refuse(problems);
}

export function byMethod(request: SeenRequest, calls: Readonly<Record<string, () => FakeReply>>): FakeReply {
  const call = Object.hasOwn(calls, request.method) ? calls[request.method] : undefined;
  return call === undefined ? failure(405, "Method Not Allowed") : call();
}

export function profileOf(bank: Bank): unknown {
  return {
    bank_id: bank.id,
    name: bank.name,
    disposition: { skepticism: 3, literalism: 3, empathy: 3 },
    mission: bank.overrides.reflect_mission ?? bank.overrides.mission ?? "",
    background: null,
  };
}

export function unitOf(fact: Fact): Record<string, unknown> {
  return {
    id: fact.id,
    text: fact.text,
    type: fact.type,
    entities: fact.entities,
    context: fact.context,
    occurred_start: null,
    occurred_end: null,
    mentioned_at: fact.mentionedAt,
    document_id: fact.documentId,
    metadata: fact.metadata,
    chunk_id: null,
    tags: fact.tags,
    source_fact_ids: fact.sources,
  };
}

export function statsOf(bank: Bank): unknown {
  const byType = Object.entries(Object.groupBy(bank.facts, (fact) => fact.type));
  const waiting = [...bank.operations.values()].filter((operation) => operation.status === "pending");
  return {
    bank_id: bank.id,
    total_nodes: bank.facts.length,
    total_links: 0,
    total_documents: bank.documents.size,
    nodes_by_fact_type: Object.fromEntries(byType.map(([type, facts]) => [type, facts.length])),
    links_by_link_type: {},
    links_by_fact_type: {},
    links_breakdown: {},
    pending_operations: waiting.length,
    failed_operations: 0,
  };
}

export function operationState(operation: Operation): Record<string, unknown> {
  return {
    operation_id: operation.id,
    status: operation.status,
    operation_type: operation.type,
    created_at: operation.createdAt,
    updated_at: operation.updatedAt,
    completed_at: operation.status === "completed" ? operation.updatedAt : null,
    error_message: null,
  };
}

function documentState(bank: Bank, document: HindsightDocument): unknown {
  return {
    id: document.id,
    bank_id: bank.id,
    original_text: document.text,
    content_hash: `length-${document.text.length}`,
    created_at: document.createdAt,
    updated_at: document.updatedAt,
    memory_unit_count: bank.facts.filter((fact) => fact.documentId === document.id).length,
    tags: document.tags,
  };
}

export function documentReply(bank: Bank, id: string, request: SeenRequest): FakeReply {
  const document = bank.documents.get(id);
  if (document === undefined) return failure(404, "Document not found");
  return byMethod(request, {
    GET: () => ok(documentState(bank, document)),
    PATCH: () => {
      const wrong = invalid(request.body, object({ optional: { tags: nullable(listOf(text())) } }));
      if (wrong !== undefined) return wrong;
      bank.retag(id, (request.body as { tags?: readonly string[] | null }).tags ?? document.tags);
      return ok({ success: true, document_id: id });
    },
    DELETE: () =>
      ok({
        success: true,
        message: `Document '${id}' was deleted`,
        document_id: id,
        memory_units_deleted: bank.deleteDocument(id),
      }),
  });
}

export function listDocuments(bank: Bank, request: SeenRequest): FakeReply {
  const wanted = String(request.query.q ?? "").toLowerCase();
  const found = [...bank.documents.values()].filter(({ id }) => id.toLowerCase().includes(wanted));
  return page(
    request,
    ["q"],
    found.map((document) => documentState(bank, document)),
  );
}

export function listMemories(bank: Bank, request: SeenRequest): FakeReply {
  const { type, q, document_id: documentId } = request.query;
  const found = bank.facts.filter(
    (fact) =>
      (type === undefined || fact.type === type) &&
      (documentId === undefined || fact.documentId === documentId) &&
      fact.text.toLowerCase().includes(String(q ?? "").toLowerCase()),
  );
  return page(request, ["type", "q", "document_id"], found.map(unitOf));
}

export function listTags(bank: Bank, request: SeenRequest): FakeReply {
  const counts = new Map<string, number>();
  for (const tag of bank.facts.flatMap((fact) => fact.tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return page(
    request,
    ["q"],
    [...counts].map(([tag, count]) => ({ tag, count })),
  );
}

export function listOperations(bank: Bank, request: SeenRequest): FakeReply {
  const { status } = request.query;
  const found = [...bank.operations.values()].filter(
    (each) => status === undefined || each.status === status,
  );
  const { status: code, body } = page(
    request,
    ["status", "type"],
    found.map((each) => ({ id: each.id, ...operationState(each) })),
    20,
  );
  if (code !== 200) return { status: code, body };
  const { items, ...rest } = body as { items: unknown };
  return ok({ bank_id: bank.id, ...rest, operations: items });
}

/** One page of a list: `limit` and `offset` are of every list, the other names of this one. */
function page(
  request: SeenRequest,
  names: readonly string[],
  items: readonly unknown[],
  standard = 100,
): FakeReply {
  const unknown = Object.keys(request.query).filter((name) => ![...names, "limit", "offset"].includes(name));
  if (unknown.length > 0)
    return refuse(
      unknown.map((name) => ({ type: "extra_forbidden", loc: ["query", name], msg: "Not a parameter" })),
    );
  const limit = Number(request.query.limit ?? standard);
  const offset = Number(request.query.offset ?? 0);
  for (const [name, value] of Object.entries({ limit, offset }))
    if (!Number.isInteger(value) || value < 0)
      return refuse([{ type: "int_parsing", loc: ["query", name], msg: "Input should be a valid integer" }]);
  return ok({ items: items.slice(offset, offset + limit), total: items.length, limit, offset });
}
