// A fake Mem0: the platform (API v3, the older v1 and v2 beside it) or, as another edition, the server that people host themselves.
// Extraction is replaced by taking each message as one fact.
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type FakeReply, FakeServer, type SeenRequest } from "./fake-server.ts";
import { accountRoutes } from "./mem0-account.ts";
import {
  ENTITIES,
  factsOf,
  filterProblem,
  inCategories,
  type Mem0Edition,
  Mem0Memories,
  type Mem0Memory,
  namesOwner,
  ownersIn,
  searchMemories,
} from "./mem0-memories.ts";
import { invalid, pageLinks, pageOf, refused, toWire } from "./mem0-wire.ts";
import {
  anyObject,
  between,
  either,
  type FieldProblem,
  type Fields,
  fieldProblem,
  integer,
  isBoolean,
  type JsonObject,
  listOf,
  objectOf,
  oneOf,
  queryInteger,
  type Route,
  route,
  text,
} from "./strict.ts";

type AddedMemory = { readonly id: string; readonly memory: string; readonly event: "ADD" };

type Event = {
  readonly id: string;
  status: "PENDING" | "SUCCEEDED" | "FAILED";
  results: readonly AddedMemory[];
  readonly store: () => readonly AddedMemory[];
};

const MESSAGES = either(
  text(),
  listOf(objectOf({ role: oneOf("user", "assistant", "system"), content: text() }), 1),
);

const OWNER_FIELDS: Fields = { user_id: text(), agent_id: text(), app_id: text(), run_id: text() };

const ADD_FIELDS: Fields = {
  ...OWNER_FIELDS,
  infer: isBoolean,
  metadata: anyObject,
  custom_instructions: text(),
  custom_categories: listOf(anyObject),
  timestamp: integer(0),
  expiration_date: text(),
  // Options of the older API: accepted, without effect.
  version: text(),
  async_mode: isBoolean,
  enable_graph: isBoolean,
  output_format: text(),
};

const LIST_FIELDS: Fields = {
  categories: listOf(text()),
  show_expired: isBoolean,
  latest_only: isBoolean,
};

const SEARCH_FIELDS: Fields = {
  ...LIST_FIELDS,
  top_k: integer(1, 1000),
  rerank: isBoolean,
  threshold: between(0, 1),
  output_format: text(),
  keyword_search: isBoolean,
  fields: listOf(text()),
  reference_date: text(),
  source: text(),
};

const PAGE: Fields = { page: queryInteger(1), page_size: queryInteger(1, 200) };

/** The ids that older clients repeat in every request, from the ping. */
const ACCOUNT_FIELDS: Fields = { org_id: text(), project_id: text() };

export class FakeMem0 extends FakeServer {
  readonly edition: Mem0Edition;
  readonly table = new Mem0Memories();
  /** True: what was added can be found only after `settle`. */
  settleByHand = false;
  /** False: a platform from before API v3, which has no such paths. */
  hasV3 = true;
  /** False: no call tells the state of a write. */
  hasEvents = true;
  /** True: search and list answer a bare list, as the older API did. */
  bareLists = false;
  /** What the generated profile of every user says. */
  profile: JsonObject = {};
  /**
   * Of a self-hosted server of an earlier revision: its search takes entity ids only at the top level and answers this status without one.
   * Undefined: a current one.
   */
  olderSearchStatus: 400 | 422 | 500 | undefined;
  readonly account = { org_id: "org_1", project_id: "proj_1", user_email: "a@example.com" };
  readonly #events = new Map<string, Event>();
  readonly #routes: readonly Route[];

  constructor(options: { readonly edition?: Mem0Edition } = {}) {
    super();
    this.edition = options.edition ?? "platform";
    this.#routes =
      this.edition === "oss" ? this.#selfHosted() : [...this.#platform(), ...accountRoutes(this)];
  }

  // ---- For tests

  /** Ends the processing of all writes that wait. A failed one stores nothing. */
  settle(outcome: "SUCCEEDED" | "FAILED" = "SUCCEEDED"): void {
    for (const event of this.#events.values()) {
      if (event.status !== "PENDING") continue;
      event.status = outcome;
      if (outcome === "SUCCEEDED") event.results = event.store();
    }
  }

  /** Stores a memory past the wire; one with the same id is replaced. */
  put(memory: Partial<Mem0Memory> & { readonly memory: string }): Mem0Memory {
    return this.table.put(memory);
  }

  /** What a filter by this user finds, oldest first. */
  memories(userId: string): readonly Mem0Memory[] {
    return this.table.all().filter(({ user_id }) => user_id === userId);
  }

  memoriesOfAgent(agentId: string): readonly Mem0Memory[] {
    return this.table.all().filter(({ agent_id }) => agent_id === agentId);
  }

  /** Everything, without ids of memories and times; fields that are null are left out. */
  stored(): unknown {
    const waiting = [...this.#events.values()].filter(({ status }) => status === "PENDING").length;
    const memories = this.table.all().map(({ memory, metadata, categories, expiration_date, ...rest }) => {
      const owners = Object.fromEntries(ENTITIES.map((entity) => [entity, rest[entity]]));
      const fields = { memory, ...owners, metadata, expiration_date };
      const known = Object.entries(fields).filter(([, value]) => value !== null);
      return { ...Object.fromEntries(known), ...(categories.length === 0 ? {} : { categories }) };
    });
    return { memories, waiting };
  }

  // ---- The server

  protected override isAuthorised(headers: IncomingHttpHeaders, token: string): boolean {
    if (this.edition === "platform") return headers.authorization === `Token ${token}`;
    return headers["x-api-key"] === token || headers.authorization === `Bearer ${token}`;
  }

  protected override refusal(): FakeReply {
    if (this.edition === "oss")
      return { status: 401, body: { detail: "A valid API key or token is needed." } };
    return {
      status: 401,
      body: { detail: "Given token not valid for any token type", code: "token_not_valid" },
    };
  }

  protected override handle(request: SeenRequest): FakeReply {
    const isJson = /^application\/json\b/i.test(request.headers["content-type"] ?? "");
    if (request.body !== undefined && !isJson)
      return { status: 415, body: { detail: "Unsupported media type in request." } };
    if (!this.hasV3 && request.path.startsWith("/v3/")) return notFound();
    const reply = route(this.#routes, request);
    if (reply === "no-path") return notFound();
    if (reply === "no-method")
      return { status: 405, body: { detail: `Method "${request.method}" not allowed.` } };
    return reply;
  }

  // ---- The platform

  #platform(): readonly Route[] {
    return [
      {
        method: "GET",
        path: /^\/v1\/ping\/$/,
        answer: () => ({ status: 200, body: { status: "ok", ...this.account } }),
      },
      {
        method: "POST",
        path: /^\/v3\/memories\/add\/$/,
        answer: ({ body }) =>
          refused(body, { messages: MESSAGES }, ADD_FIELDS) ?? this.#answerAdd(body as JsonObject),
      },
      {
        method: "POST",
        path: /^\/v3\/memories\/search\/$/,
        answer: ({ body }) => this.#searchByFilters(body, SEARCH_FIELDS, this.bareLists),
      },
      {
        method: "POST",
        path: /^\/v3\/memories\/$/,
        answer: (request) =>
          this.#list(request, { ...LIST_FIELDS, start_date: text(), end_date: text() }, this.bareLists),
      },
      {
        method: "GET",
        path: /^\/v1\/event\/([^/]+)\/$/,
        answer: (_, id = "") => {
          if (!this.hasEvents) return notFound();
          const event = this.#events.get(id);
          if (event === undefined) return { status: 404, body: { error: "Event not found!" } };
          return { status: 200, body: { id, status: event.status, results: event.results } };
        },
      },
      // Before v3. Real clients of that time sent these; ours does not.
      {
        method: "POST",
        path: /^\/v1\/memories\/$/,
        answer: ({ body }) => {
          const refusal = refused(body, { messages: MESSAGES }, { ...ADD_FIELDS, ...ACCOUNT_FIELDS });
          if (refusal !== undefined) return refusal;
          const { results: _, ...queued } = this.#add(body as JsonObject);
          return { status: 200, body: [{ ...queued, status: "PENDING" }] };
        },
      },
      {
        method: "POST",
        path: /^\/v1\/memories\/search\/$/,
        answer: ({ body }) => {
          const optional = { ...OWNER_FIELDS, ...ACCOUNT_FIELDS, limit: integer(1, 1000) };
          const refusal = refused(body, { query: text() }, optional);
          if (refusal !== undefined) return refusal;
          const { query, limit = 10 } = body as { query: string; limit?: number };
          const found = this.table.matching(ownersIn(body as JsonObject));
          return { status: 200, body: hits(query, found, { topK: limit, threshold: 0.1 }) };
        },
      },
      {
        method: "POST",
        path: /^\/v2\/memories\/search\/$/,
        answer: ({ body }) => this.#searchByFilters(body, { ...SEARCH_FIELDS, ...ACCOUNT_FIELDS }, true),
      },
      {
        method: "GET",
        path: /^\/v1\/memories\/$/,
        answer: ({ query }) => {
          const refusal = refused(query, {}, { ...OWNER_FIELDS, ...ACCOUNT_FIELDS, ...PAGE });
          if (refusal !== undefined) return refusal;
          return { status: 200, body: pageOf(this.table.matching(ownersIn(query)), query).map(toWire) };
        },
      },
      {
        method: "POST",
        path: /^\/v2\/memories\/$/,
        answer: (request) => this.#list(request, { ...LIST_FIELDS, ...ACCOUNT_FIELDS }, false),
      },
    ];
  }

  #answerAdd(body: JsonObject): FakeReply {
    const { results, ...rest } = this.#add(body);
    // An inferred write is acknowledged before it is done, whether or not the fake has done it already.
    const isDone = body.infer === false && rest.status === "SUCCEEDED";
    return { status: 200, body: isDone ? { ...rest, results } : { ...rest, status: "PENDING" } };
  }

  #add(body: JsonObject) {
    const event: Event = {
      id: randomUUID(),
      status: "PENDING",
      results: [],
      store: () => factsOf(body, this.edition).map((fact) => added(this.table.put(fact))),
    };
    this.#events.set(event.id, event);
    if (!this.settleByHand) {
      event.results = event.store();
      event.status = "SUCCEEDED";
    }
    const message =
      event.status === "SUCCEEDED" && body.infer === false
        ? "Memories stored"
        : "Memory processing has been queued for background execution";
    return { message, status: event.status, event_id: event.id, results: event.results };
  }

  #searchByFilters(body: unknown, optional: Fields, isBare: boolean): FakeReply {
    const refusal = refusedOwners(body) ?? refused(body, { query: text(), filters: anyObject }, optional);
    if (refusal !== undefined) return refusal;
    const { query, filters, top_k, threshold, categories, show_expired } = body as {
      query: string;
      filters: JsonObject;
      top_k?: number;
      threshold?: number;
      categories?: readonly string[];
      show_expired?: boolean;
    };
    if (query.trim() === "") return invalid("Invalid query", "query is blank");
    const problem = filterProblem(filters);
    if (problem !== undefined) return invalid("Invalid filters", problem);
    const among = inCategories(this.table.matching(filters, { showExpired: show_expired }), categories);
    const results = hits(query, among, { topK: top_k ?? 10, threshold: threshold ?? 0.1 });
    return { status: 200, body: isBare ? results : { results } };
  }

  #list({ query, body, path }: SeenRequest, optional: Fields, isBare: boolean): FakeReply {
    const refusal =
      refusedOwners(body) ?? refused(body, { filters: anyObject }, optional) ?? refused(query, {}, PAGE);
    if (refusal !== undefined) return refusal;
    const { filters, categories, show_expired, start_date, end_date } = body as {
      filters: JsonObject;
      categories?: readonly string[];
      show_expired?: boolean;
      start_date?: string;
      end_date?: string;
    };
    const problem = filterProblem(filters);
    if (problem !== undefined) return invalid("Invalid filters", problem);
    const found = inCategories(
      this.table.matching(filters, { showExpired: show_expired }),
      categories,
    ).filter(({ createdAtMs }) => {
      const day = new Date(createdAtMs).toISOString().slice(0, 10);
      return (start_date === undefined || day >= start_date) && (end_date === undefined || day <= end_date);
    });
    const results = pageOf(found, query).map(toWire);
    return {
      status: 200,
      body: isBare ? results : { ...pageLinks(`${this.url}${path}`, query, found.length), results },
    };
  }

  // ---- The server that people host themselves

  #selfHosted(): readonly Route[] {
    const owners: Fields = { user_id: text(), agent_id: text(), run_id: text() };
    return [
      {
        method: "POST",
        path: /^\/memories$/,
        answer: ({ body }) => {
          const problem = fieldProblem(body, { messages: MESSAGES }, { ...ADD_FIELDS });
          if (problem !== undefined) return unprocessable(problem, "body");
          if (!namesOwner(body as JsonObject)) return noIdentifier(400);
          const { event_id } = this.#add(body as JsonObject);
          this.settle(); // it answers when it is done
          return { status: 200, body: { results: this.#events.get(event_id)?.results } };
        },
      },
      {
        method: "GET",
        path: /^\/memories$/,
        answer: ({ query }) => {
          const problem = fieldProblem(query, {}, { ...owners, top_k: queryInteger(1, 1000) });
          if (problem !== undefined) return unprocessable(problem, "query");
          if (!namesOwner(query)) return noIdentifier(400);
          const found = this.table.matching(ownersIn(query)).slice(0, Number(query.top_k ?? 100));
          return { status: 200, body: { results: found.map(toWire) } };
        },
      },
      {
        method: "POST",
        path: /^\/search$/,
        answer: ({ body }) =>
          this.olderSearchStatus === undefined ? this.#search(body) : this.#olderSearch(body),
      },
      {
        method: "DELETE",
        path: /^\/memories\/([^/]+)$/,
        answer: (_, id = "") =>
          this.table.delete(id)
            ? { status: 200, body: { message: "Memory deleted successfully" } }
            : { status: 404, body: { detail: "Memory not found" } },
      },
    ];
  }

  #search(body: unknown): FakeReply {
    const problem = fieldProblem(body, { query: text() }, { filters: anyObject, top_k: integer(1, 1000) });
    if (problem !== undefined) return unprocessable(problem, "body");
    const {
      query,
      filters = {},
      top_k = 10,
    } = body as { query: string; filters?: JsonObject; top_k?: number };
    if (filterProblem(filters) !== undefined) return noIdentifier(400);
    return {
      status: 200,
      body: { results: hits(query, this.table.matching(filters), { topK: top_k, threshold: 0 }) },
    };
  }

  /** An earlier revision: `filters` is there but no identifier is looked for in it, and what it does not know it ignores. */
  #olderSearch(body: unknown): FakeReply {
    const { query, ...rest } = body as { query?: unknown } & JsonObject;
    if (typeof query !== "string")
      return unprocessable({ field: "query", kind: "missing", message: "Field required" }, "body");
    if (!namesOwner(rest)) return noIdentifier(this.olderSearchStatus ?? 400);
    const found = this.table.matching(ownersIn(rest));
    return { status: 200, body: { results: hits(query, found, { topK: 100, threshold: 0 }) } };
  }
}

// ---- Answers

function added({ id, memory }: Mem0Memory): AddedMemory {
  return { id, memory, event: "ADD" };
}

function hits(query: string, among: readonly Mem0Memory[], limits: { topK: number; threshold: number }) {
  return searchMemories(query, among, limits).map(({ item, score }) => ({ ...toWire(item), score }));
}

function notFound(): FakeReply {
  return { status: 404, body: { detail: "Not found." } };
}

function refusedOwners(body: unknown): FakeReply | undefined {
  const owner = ENTITIES.find((entity) => (body as JsonObject | undefined)?.[entity] !== undefined);
  if (owner === undefined) return undefined;
  return invalid("Invalid request", `${owner} belongs into filters, not to the top level`);
}

function unprocessable({ field, kind, message }: FieldProblem, place: "body" | "query"): FakeReply {
  const type = kind === "missing" ? "missing" : kind === "unknown" ? "extra_forbidden" : "value_error";
  return { status: 422, body: { detail: [{ type, loc: [place, field], msg: message }] } };
}

function noIdentifier(status: number): FakeReply {
  return { status, body: { detail: "At least one identifier is required: user_id, agent_id or run_id." } };
}
