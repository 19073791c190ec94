// A fake Hindsight, versions 0.4.22 to 0.9.1, with the requests that our provider makes. Every line of a text becomes one fact and one
// observation. Unlike the real server it refuses unknown body fields, so that a wrong field name cannot pass unnoticed.
import type { IncomingHttpHeaders } from "node:http";
import { type FakeReply, FakeServer, rank, type SeenRequest } from "./fake-server.ts";
import { answerWith, type Call, Refusal, type Route, route } from "./routes.ts";
import {
  type Check,
  either,
  type Fields,
  fieldProblem,
  integer,
  isBoolean,
  isObject,
  listOf,
  nullable,
  objectOf,
  oneOf,
  text,
  textLike,
} from "./strict.ts";

export type HindsightOptions = {
  /** What `/version` reports; undefined: there is no such route. */
  readonly version?: string;
};

export type RetainItem = {
  readonly content: string;
  readonly context?: string | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
  readonly document_id?: string | null;
  readonly entities?: readonly { readonly text: string }[] | null;
  readonly tags?: readonly string[] | null;
  readonly observation_scopes?: unknown;
  readonly update_mode?: "replace" | "append" | null;
};

export type HindsightDocument = {
  readonly id: string;
  /** Appended texts are joined with a newline. */
  readonly text: string;
  readonly tags: readonly string[];
  /** The items that were retained into the document since it was last replaced, in order. */
  readonly items: readonly RetainItem[];
};

type Fact = {
  readonly id: string;
  readonly text: string;
  readonly type: string;
  readonly documentId: string;
  readonly item: RetainItem;
};

type Operation = {
  readonly id: string;
  status: "pending" | "completed" | "cancelled";
  readonly items: readonly RetainItem[];
  /** The request as JSON: the same id with another request is another operation. */
  readonly request: string;
};

type Bank = {
  readonly id: string;
  readonly documents: Map<string, HindsightDocument>;
  facts: Fact[];
  readonly operations: Map<string, Operation>;
  readonly overrides: Record<string, unknown>;
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const NOW = "2026-01-02T03:04:05.678Z";
const USAGE = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const FACT_TYPES = ["world", "experience", "observation"];
const TAGS_MATCHES = ["any", "all", "any_strict", "all_strict", "exact"];

// ---- What it accepts

const mapOf = (value: unknown) => (isObject(value) ? undefined : "is not an object");
const words = textLike(/[\p{L}\p{N}_]/u, "has no word");
const strings = listOf(text());
const budget = oneOf("low", "mid", "high");
const tags = { tags: nullable(strings), tags_match: oneOf(...TAGS_MATCHES) };
const upTo = nullable(objectOf({}, { max_tokens: integer(0) }));
const types = nullable(listOf(oneOf(...FACT_TYPES)));

function retainFields(isNew: boolean, hasOperationIds: boolean): readonly [Fields, Fields] {
  const item = objectOf(
    { content: textLike(/\S/, "is blank") },
    {
      timestamp: nullable(text()),
      context: nullable(text()),
      metadata: nullable(mapOf),
      document_id: nullable(text(0)),
      entities: nullable(listOf(mapOf)),
      resolve_entities: nullable(isBoolean),
      tags: nullable(strings),
      observation_scopes: nullable(
        either(listOf(strings), oneOf("per_tag", "combined", "all_combinations", "shared")),
      ),
      strategy: nullable(text()),
      ...(isNew ? { update_mode: nullable(oneOf("replace", "append")) } : {}),
    },
  );
  const operation = { operation_id: nullable(textLike(UUID, "is no UUID")) };
  const more = { async: isBoolean, document_tags: nullable(strings) };
  return [{ items: listOf(item, 1) }, { ...more, ...(hasOperationIds ? operation : {}) }];
}

const RECALL: Fields = {
  types,
  budget,
  max_tokens: integer(1),
  ...tags,
  include: objectOf({}, { entities: upTo, chunks: upTo, source_facts: upTo }),
  trace: isBoolean,
  query_timestamp: nullable(text()),
  prefer_observations: isBoolean,
  min_scores: nullable(mapOf),
};

const REFLECT: Fields = {
  budget,
  context: nullable(text()),
  max_tokens: integer(1),
  ...tags,
  response_schema: nullable(mapOf),
  fact_types: types,
  include: mapOf,
};

const BANK: Fields = {
  ...{ name: nullable(text()), mission: nullable(text()), background: nullable(text()) },
  ...{ reflect_mission: nullable(text()), retain_mission: nullable(text()) },
  ...{ observations_mission: nullable(text()), enable_observations: nullable(isBoolean) },
  disposition: nullable(mapOf),
};

// ---- The server

export class FakeHindsight extends FakeServer {
  version: string | undefined;
  /** Changes to the features that `/version` reports. */
  features: Readonly<Record<string, boolean>> = {};
  /** The text that reflect answers. */
  reflection: string | ((query: string) => string) = "Nothing is known about that.";
  /** Asynchronous retains wait for `settle`. */
  settleByHand = false;
  readonly #banks = new Map<string, Bank>();
  readonly #routes: readonly Route[] = this.#table();
  #ids = 0;

  constructor({ version = "0.9.1" }: HindsightOptions = {}) {
    super();
    this.version = version;
  }

  // ---- For tests

  /** Applies the asynchronous retains that wait, oldest first. */
  settle(): void {
    for (const bank of this.#banks.values())
      for (const operation of bank.operations.values())
        if (operation.status === "pending") this.#apply(bank, operation);
  }

  /** Stores items without a request. */
  retain(bank: string, ...items: readonly RetainItem[]): void {
    this.#retain(this.#bank(bank), items);
  }

  banks(): readonly string[] {
    return [...this.#banks.keys()];
  }

  documents(bank: string): readonly HindsightDocument[] {
    return [...(this.#banks.get(bank)?.documents.values() ?? [])];
  }

  document(bank: string, id: string): HindsightDocument | undefined {
    return this.#banks.get(bank)?.documents.get(id);
  }

  /** What PATCH config and PUT changed. */
  overrides(bank: string): Readonly<Record<string, unknown>> {
    return this.#banks.get(bank)?.overrides ?? {};
  }

  stored(): unknown {
    return [...this.#banks.values()].flatMap(({ documents, operations }) => [
      ...documents.values(),
      ...[...operations.values()].filter(({ status }) => status === "pending").map(({ items }) => items),
    ]);
  }

  // ---- Requests

  protected isAuthorised(headers: IncomingHttpHeaders, token: string, path: string): boolean {
    return !path.startsWith("/v1/") || headers.authorization === `Bearer ${token}`;
  }

  protected refusal(): FakeReply {
    return failure(401, "Invalid API key");
  }

  protected handle(request: SeenRequest): FakeReply {
    const [, , , , id] = request.path.split("/").map(decodeURIComponent);
    const isNew = id !== undefined && !this.#banks.has(id);
    const reply = answerWith(this.#routes, request, (status) => failure(status, "Not Found"));
    if (isNew && reply.status >= 400) this.#banks.delete(id); // a refused request makes no bank
    return reply;
  }

  #table(): readonly Route[] {
    const B = "/v1/default/banks/:bank";
    const bank = ({ params }: Call) => this.#bank(params.bank ?? "");
    return [
      route("GET", "/version", () => {
        if (this.version === undefined) return failure(404, "Not Found");
        return ok({ api_version: this.version, features: this.#features() });
      }),
      route("GET", "/health", () => ok({ status: "healthy", database: "connected" })),
      route("GET", "/v1/default/banks", () => {
        const times = { created_at: NOW, updated_at: NOW };
        return ok({ banks: this.banks().map((id) => ({ bank_id: id, name: id, ...times })) });
      }),
      route("PUT", B, (call) => {
        const { id, overrides } = bank(call);
        check(call.request.body, {}, BANK);
        Object.assign(overrides, call.request.body);
        const disposition = { skepticism: 3, literalism: 3, empathy: 3 };
        const mission = overrides.reflect_mission ?? overrides.mission ?? "";
        return ok({ bank_id: id, name: id, disposition, mission, background: null });
      }),
      route("DELETE", B, ({ params: { bank: id = "" } }) => {
        const deleted_count = this.#banks.get(id)?.facts.length ?? 0;
        if (!this.#banks.delete(id)) return failure(404, "Bank not found");
        return ok({ success: true, message: `Bank '${id}' was deleted`, deleted_count });
      }),
      route("GET", `${B}/config`, (call) => this.#config(bank(call))),
      route("PATCH", `${B}/config`, (call) => {
        check(call.request.body, { updates: mapOf });
        Object.assign(bank(call).overrides, (call.request.body as { updates: object }).updates);
        return this.#config(bank(call));
      }),
      route("POST", `${B}/memories`, (call) => this.#postMemories(bank(call), call.request.body)),
      route("POST", `${B}/memories/recall`, (call) => this.#recall(bank(call), call.request.body)),
      route("GET", `${B}/memories/list`, (call) => {
        const q = String(call.request.query.q ?? "").toLowerCase();
        const found = bank(call).facts.filter((fact) => fact.text.toLowerCase().includes(q));
        return page(call, found.map(unitOf));
      }),
      route("POST", `${B}/reflect`, ({ request: { body } }) => {
        check(body, { query: words }, REFLECT);
        const { query } = body as { query: string };
        const answer = typeof this.reflection === "string" ? this.reflection : this.reflection(query);
        return ok({ text: answer, based_on: null, structured_output: null, usage: USAGE, trace: null });
      }),
      route("GET", `${B}/documents`, (call) => {
        const home = bank(call);
        return page(
          call,
          [...home.documents.values()].map((each) => documentView(home, each)),
        );
      }),
      route("GET", `${B}/documents/:id`, (call) => {
        const found = bank(call).documents.get(call.params.id ?? "");
        return found === undefined ? failure(404, "Document not found") : ok(documentView(bank(call), found));
      }),
      route("DELETE", `${B}/documents/:id`, (call) => {
        const home = bank(call);
        const { id: document_id = "" } = call.params;
        if (!home.documents.delete(document_id)) return failure(404, "Document not found");
        const before = home.facts.length;
        home.facts = home.facts.filter(({ documentId }) => documentId !== document_id);
        const memory_units_deleted = before - home.facts.length;
        return ok({ success: true, message: "Deleted", document_id, memory_units_deleted });
      }),
      route("GET", `${B}/stats`, (call) => {
        const { id, facts, documents, operations } = bank(call);
        const waiting = [...operations.values()].filter(({ status }) => status === "pending");
        const links = { links_by_link_type: {}, links_by_fact_type: {}, links_breakdown: {} };
        return ok({
          ...{ bank_id: id, total_nodes: facts.length, total_links: 0, total_documents: documents.size },
          ...{ nodes_by_fact_type: {}, ...links, pending_operations: waiting.length, failed_operations: 0 },
        });
      }),
      route("GET", `${B}/operations/:id`, (call) => {
        const { id: operation_id = "" } = call.params;
        if (!UUID.test(operation_id)) return failure(400, "Invalid operation_id");
        const status = bank(call).operations.get(operation_id)?.status;
        if (status === undefined) return ok({ operation_id, status: "not_found" });
        const times = { created_at: NOW, updated_at: NOW, completed_at: null };
        return ok({ operation_id, status, operation_type: "retain", ...times, error_message: null });
      }),
      route("DELETE", `${B}/operations/:id`, (call) => {
        const { id: operation_id = "" } = call.params;
        const operation = bank(call).operations.get(operation_id);
        if (operation === undefined) return failure(404, "Operation not found");
        if (operation.status !== "pending") return failure(409, `The operation is ${operation.status}`);
        operation.status = "cancelled";
        return ok({ success: true, message: "The operation was cancelled", operation_id });
      }),
    ];
  }

  #features(): Readonly<Record<string, boolean>> {
    const isNew = this.#isSince("0.5.0");
    return {
      ...{ observations: true, mcp: true, worker: true, audit_log: false, llm_trace: false },
      ...{ bank_config_api: isNew, bank_llm_health: isNew, file_upload_api: isNew },
      ...{ document_export_api: isNew, document_import_api: isNew, store_document_text: true },
      ...this.features,
    };
  }

  #isSince(version: string): boolean {
    return (this.version ?? "0").localeCompare(version, "en", { numeric: true }) >= 0;
  }

  #bank(id: string): Bank {
    const known = this.#banks.get(id);
    if (known !== undefined) return known;
    const bank = { id, documents: new Map(), facts: [], operations: new Map(), overrides: {} };
    this.#banks.set(id, bank);
    return bank;
  }

  #newId(): string {
    this.#ids += 1;
    return `10000000-0000-4000-8000-${this.#ids.toString(16).padStart(12, "0")}`;
  }

  #apply(bank: Bank, operation: Operation): void {
    this.#retain(bank, operation.items);
    operation.status = "completed";
  }

  #retain(bank: Bank, items: readonly RetainItem[]): void {
    for (const item of items) {
      const id = item.document_id || this.#newId();
      const kept = item.update_mode === "append" ? bank.documents.get(id) : undefined;
      if (kept === undefined) bank.facts = bank.facts.filter(({ documentId }) => documentId !== id);
      bank.documents.set(id, {
        id,
        text: kept === undefined ? item.content : `${kept.text}\n${item.content}`,
        tags: [...new Set([...(kept?.tags ?? []), ...(item.tags ?? [])])],
        items: [...(kept?.items ?? []), item],
      });
      for (const line of item.content.split("\n").filter((each) => each.trim() !== ""))
        for (const type of ["world", "observation"])
          bank.facts.push({ id: this.#newId(), text: line, type, documentId: id, item });
    }
  }

  #config({ id, overrides }: Bank): FakeReply {
    if (this.#features().bank_config_api !== true) return failure(404, "The bank configuration API is off");
    return ok({ bank_id: id, config: { reflect_mission: "", retain_mission: "", ...overrides }, overrides });
  }

  #postMemories(bank: Bank, body: unknown): FakeReply {
    check(body, ...retainFields(this.#isSince("0.5.0"), this.#isSince("0.9.1")));
    const { items, ...request } = body as {
      items: readonly RetainItem[];
      async?: boolean;
      operation_id?: string | null;
    };
    const appended = items.filter(({ update_mode }) => update_mode === "append");
    if (
      appended.some(({ document_id }) => !document_id) ||
      (appended.length > 0 && !this.#features().store_document_text)
    )
      return failure(400, "update_mode 'append' needs a document_id and stored document texts");
    const answer = { success: true, bank_id: bank.id, items_count: items.length };
    if (request.async !== true) {
      this.#retain(bank, items);
      return ok({ ...answer, async: false, usage: USAGE });
    }
    const id = request.operation_id ?? this.#newId();
    const known = [...this.#banks.values()].flatMap(({ operations }) => operations.get(id) ?? []);
    if (known.some((each) => each !== bank.operations.get(id) || each.request !== JSON.stringify(body)))
      return failure(409, "operation_id belongs to another operation");
    if (known.length === 0) {
      const operation: Operation = { id, items, request: JSON.stringify(body), status: "pending" };
      bank.operations.set(id, operation);
      if (!this.settleByHand) this.#apply(bank, operation);
    }
    return ok({ ...answer, async: true, operation_id: id, operation_ids: [id] });
  }

  #recall(bank: Bank, body: unknown): FakeReply {
    check(body, { query: words }, RECALL);
    const {
      query,
      max_tokens = 4096,
      ...asked
    } = body as {
      query: string;
      types?: readonly string[] | null;
      tags?: readonly string[] | null;
      tags_match?: string;
      max_tokens?: number;
      include?: { entities?: unknown };
    };
    const among = bank.facts.filter(
      ({ type, item }) =>
        (asked.types ?? ["world", "experience"]).includes(type) &&
        hasTags(item.tags ?? [], asked.tags ?? [], asked.tags_match ?? "any"),
    );
    let left = max_tokens;
    const found = rank(query, among, (fact) => fact.text).filter(({ item }) => {
      left -= Math.ceil(item.text.length / 4);
      return left >= 0;
    });
    const names = new Set(found.flatMap(({ item }) => (item.item.entities ?? []).map((each) => each.text)));
    const entities = [...names].map((name) => {
      return [name, { entity_id: `entity-${name}`, canonical_name: name, observations: [] }] as const;
    });
    return ok({
      results: found.map(({ item, score }) => {
        return { ...unitOf(item), scores: { final: score, semantic: score, keyword: score } };
      }),
      trace: null,
      entities: asked.include?.entities === null ? null : Object.fromEntries(entities),
      chunks: null,
    });
  }
}

function hasTags(own: readonly string[], wanted: readonly string[], match: string): boolean {
  if (wanted.length === 0 || (own.length === 0 && (match === "any" || match === "all"))) return true;
  if (match.startsWith("any")) return wanted.some((tag) => own.includes(tag));
  const isAll = wanted.every((tag) => own.includes(tag));
  return isAll && (match !== "exact" || own.every((tag) => wanted.includes(tag)));
}

// ---- Answers

function check(body: unknown, required: Readonly<Record<string, Check>>, optional: Fields = {}): void {
  const problem = fieldProblem(body, required, optional);
  if (problem === undefined) return;
  const detail = [{ type: "value_error", loc: ["body", problem.field], msg: problem.message }];
  throw new Refusal({ status: 422, body: { detail } });
}

function ok(body: unknown): FakeReply {
  return { status: 200, body };
}

function failure(status: number, detail: string): FakeReply {
  return { status, body: { detail } };
}

function unitOf({ id, text: fact, type, documentId, item }: Fact): object {
  return {
    ...{ id, text: fact, type, entities: (item.entities ?? []).map((each) => each.text) },
    ...{ context: item.context ?? null, occurred_start: null, occurred_end: null, mentioned_at: NOW },
    ...{ document_id: documentId, metadata: item.metadata ?? null, chunk_id: null, tags: item.tags ?? [] },
    source_fact_ids: null,
  };
}

function documentView(bank: Bank, { id, text: original_text, tags: own }: HindsightDocument): object {
  return {
    ...{ id, bank_id: bank.id, original_text, content_hash: `length-${original_text.length}`, tags: own },
    ...{ created_at: NOW, updated_at: NOW },
    memory_unit_count: bank.facts.filter(({ documentId }) => documentId === id).length,
  };
}

/** One page of a list. */
function page({ request }: Call, items: readonly unknown[]): FakeReply {
  const [limit, offset] = [Number(request.query.limit ?? 100), Number(request.query.offset ?? 0)];
  return ok({ items: items.slice(offset, offset + limit), total: items.length, limit, offset });
}
