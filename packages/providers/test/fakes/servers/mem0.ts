// A fake Mem0 with the requests that our provider makes: the platform (API v3), or the server that people host themselves. Extraction is
// replaced by taking each message as one fact.
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type FakeReply, FakeServer, rank, type SeenRequest } from "./fake-server.ts";
import {
  anyObject,
  either,
  type FieldProblem,
  type Fields,
  fieldProblem,
  integer,
  isBoolean,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  oneOf,
  queryInteger,
  type Route,
  route,
  text,
} from "./strict.ts";

export type Mem0Edition = "platform" | "oss";

export type Mem0Memory = {
  readonly id: string;
  readonly memory: string;
  readonly user_id: string | null;
  readonly agent_id: string | null;
  readonly metadata: JsonObject | null;
  readonly categories: readonly string[];
};

type Event = { readonly id: string; status: "PENDING" | "SUCCEEDED" | "FAILED"; results: readonly object[] };

const MESSAGES = either(
  text(),
  listOf(objectOf({ role: oneOf("user", "assistant", "system"), content: text() }), 1),
);
const OWNERS: Fields = { user_id: text(), agent_id: text(), app_id: text(), run_id: text() };
/** The last two were sent by the recorded clients. */
const ADD: Fields = {
  ...OWNERS,
  infer: isBoolean,
  metadata: anyObject,
  custom_instructions: text(),
  custom_categories: listOf(anyObject),
  timestamp: integer(0),
  expiration_date: text(),
  async_mode: isBoolean,
  output_format: text(),
  enable_graph: isBoolean,
  version: text(),
};
const SEARCH: Fields = { top_k: integer(1, 1000), rerank: isBoolean, threshold: () => undefined };
const MORE: Fields = {
  categories: listOf(text()),
  show_expired: isBoolean,
  latest_only: isBoolean,
  output_format: text(),
  keyword_search: isBoolean,
  fields: listOf(text()),
  reference_date: text(),
  source: text(),
  start_date: text(),
  end_date: text(),
};
const TIMES = {
  created_at: "2026-01-02T03:04:05.000000-08:00",
  updated_at: "2026-01-02T03:04:05.000000-08:00",
};

export class FakeMem0 extends FakeServer {
  readonly edition: Mem0Edition;
  /** True: what was added can be found only after `settle`. */
  settleByHand = false;
  /** False: a platform from before API v3, which has no such paths. */
  hasV3 = true;
  /** False: no call tells the state of a write. */
  hasEvents = true;
  /** True: search and list answer a bare list, as the older API did. */
  bareLists = false;
  /** Of a self-hosted server whose search takes ids only at the top level: its answer to a search without one. */
  olderSearchStatus: 400 | 422 | 500 | undefined;
  readonly #memories = new Map<string, Mem0Memory>();
  readonly #events = new Map<string, Event & { readonly store: () => readonly object[] }>();
  readonly #routes: readonly Route[];

  constructor(options: { readonly edition?: Mem0Edition } = {}) {
    super();
    this.edition = options.edition ?? "platform";
    this.#routes = this.edition === "oss" ? this.#selfHosted() : this.#platform();
  }

  // ---- For tests

  readonly table = { all: (): readonly Mem0Memory[] => [...this.#memories.values()] };

  /** Ends the processing of all writes that wait. A failed one stores nothing. */
  settle(outcome: "SUCCEEDED" | "FAILED" = "SUCCEEDED"): void {
    for (const event of this.#events.values()) {
      if (event.status !== "PENDING") continue;
      event.status = outcome;
      if (outcome === "SUCCEEDED") event.results = event.store();
    }
  }

  put(memory: Partial<Mem0Memory> & { readonly memory: string }): Mem0Memory {
    const none = { user_id: null, agent_id: null, metadata: null, categories: [] };
    const whole = { ...none, id: randomUUID(), ...memory };
    this.#memories.set(whole.id, whole);
    return whole;
  }

  memories(userId: string): readonly Mem0Memory[] {
    return this.table.all().filter(({ user_id }) => user_id === userId);
  }

  stored(): unknown {
    return { memories: this.table.all().map(({ id: _, ...memory }) => memory) };
  }

  // ---- The server

  protected override isAuthorised(headers: IncomingHttpHeaders, token: string): boolean {
    if (this.edition === "platform") return headers.authorization === `Token ${token}`;
    return headers["x-api-key"] === token || headers.authorization === `Bearer ${token}`;
  }

  protected override refusal(): FakeReply {
    return { status: 401, body: { detail: "Given token not valid for any token type" } };
  }

  protected override handle(request: SeenRequest): FakeReply {
    if (!this.hasV3 && request.path.startsWith("/v3/")) return notFound();
    const reply = route(this.#routes, request);
    return typeof reply === "string" ? notFound() : reply;
  }

  #platform(): readonly Route[] {
    const removed = { status: 200, body: { message: "Memory deleted successfully!" } };
    return [
      on("GET", /^\/v1\/ping\/$/, () =>
        ok({ status: "ok", org_id: "org_1", project_id: "proj_1", user_email: "a@example.com" }),
      ),
      on("POST", /^\/v3\/memories\/add\/$/, ({ body }) => {
        const refusal = refused(body, { messages: MESSAGES }, ADD);
        return refusal ?? ok(this.#add(body as JsonObject));
      }),
      on("POST", /^\/v3\/memories\/search\/$/, ({ body }) => {
        const refusal = refused(body, { query: text(), filters: anyObject }, { ...SEARCH, ...MORE });
        if (refusal !== undefined) return refusal;
        const { query, filters, top_k = 10 } = body as Search;
        if (query.trim() === "") return invalid("query is blank");
        const problem = filterProblem(filters);
        if (problem !== undefined) return invalid(problem);
        const results = this.#search(query, (memory) => passes(filters, memory)).slice(0, top_k);
        return ok(this.bareLists ? results : { results });
      }),
      on("POST", /^\/v3\/memories\/$/, ({ body, query, path }) => {
        const page = { page: queryInteger(1), page_size: queryInteger(1, 200) };
        const refusal = refused(body, { filters: anyObject }, MORE) ?? refused(query, {}, page);
        if (refusal !== undefined) return refusal;
        const { filters } = body as { filters: JsonObject };
        const problem = filterProblem(filters);
        if (problem !== undefined) return invalid(problem);
        const found = this.table.all().filter((memory) => passes(filters, memory));
        const [number, size] = [Number(query.page ?? 1), Number(query.page_size ?? 100)];
        const results = found.slice((number - 1) * size, number * size).map(toWire);
        const link = (to: number) => `${this.url}${path}?page=${to}&page_size=${size}`;
        const next = number * size < found.length ? link(number + 1) : null;
        const previous = number > 1 ? link(number - 1) : null;
        return ok(this.bareLists ? results : { count: found.length, next, previous, results });
      }),
      on("GET", /^\/v1\/event\/([^/]+)\/$/, (_, id = "") => {
        const event = this.#events.get(id);
        if (!this.hasEvents || event === undefined) return notFound();
        return ok({ id, status: event.status, results: event.results });
      }),
      on("DELETE", /^\/v1\/memories\/([^/]+)\/$/, (_, id = "") =>
        this.#memories.delete(id) ? removed : { status: 404, body: { error: "Memory not found!" } },
      ),
      on("DELETE", /^\/v1\/memories\/$/, ({ query }) => {
        const refusal = refused(query, {}, OWNERS);
        if (refusal !== undefined || !namesOwner(query)) return refusal ?? invalid("an owner is needed");
        for (const memory of this.table.all()) if (isOf(query, memory)) this.#memories.delete(memory.id);
        return { status: 200, body: { message: "Memories deleted successfully!" } };
      }),
    ];
  }

  #add(body: JsonObject) {
    const facts = factsOf(body, this.edition);
    const event = {
      id: randomUUID(),
      status: "PENDING" as Event["status"],
      results: [] as readonly object[],
      store: () =>
        facts.map((fact) => {
          const { id, memory } = this.put(fact);
          return { id, memory, event: "ADD" };
        }),
    };
    this.#events.set(event.id, event);
    if (!this.settleByHand) this.settle();
    const isDone = body.infer === false && event.status === "SUCCEEDED";
    // An inferred write is acknowledged before it is done, whether or not the fake has done it already.
    const message = "Memory processing has been queued for background execution";
    const answer = { message, status: isDone ? "SUCCEEDED" : "PENDING", event_id: event.id };
    return isDone ? { ...answer, results: event.results } : answer;
  }

  #search(query: string, isWanted: (memory: Mem0Memory) => boolean) {
    const ranked = rank(query, this.table.all().filter(isWanted), ({ memory }) => memory);
    return ranked.map(({ item, score }) => ({ ...toWire(item), score }));
  }

  // ---- The server that people host themselves

  #selfHosted(): readonly Route[] {
    const noIdentifier = (status = 400): FakeReply => ({
      status,
      body: { detail: "At least one identifier is required: user_id, agent_id or run_id." },
    });
    return [
      on("POST", /^\/memories$/, ({ body }) => {
        const problem = fieldProblem(body, { messages: MESSAGES }, ADD);
        if (problem !== undefined) return unprocessable(problem, "body");
        if (!namesOwner(body as JsonObject)) return noIdentifier();
        const { event_id } = this.#add(body as JsonObject);
        this.settle(); // it answers when it is done
        return ok({ results: this.#events.get(event_id)?.results });
      }),
      on("GET", /^\/memories$/, ({ query }) => {
        const problem = fieldProblem(query, {}, { ...OWNERS, top_k: queryInteger(1, 1000) });
        if (problem !== undefined) return unprocessable(problem, "query");
        if (!namesOwner(query)) return noIdentifier();
        const found = this.table.all().filter((memory) => isOf(query, memory));
        return ok({ results: found.slice(0, Number(query.top_k ?? 100)).map(toWire) });
      }),
      on("POST", /^\/search$/, ({ body }) => {
        const { query, filters, top_k = 100, ...owners } = body as Partial<Search> & JsonObject;
        const isOlder = this.olderSearchStatus !== undefined;
        const problem = isOlder
          ? undefined
          : fieldProblem(body, { query: text() }, { filters: anyObject, ...SEARCH });
        if (problem !== undefined) return unprocessable(problem, "body");
        const wanted = isOlder ? owners : (filters ?? {});
        if (!namesOwner(wanted)) return noIdentifier(this.olderSearchStatus);
        const results = this.#search(query ?? "", (memory) => isOf(wanted, memory));
        return ok({ results: results.slice(0, top_k) });
      }),
      on("DELETE", /^\/memories\/([^/]+)$/, (_, id = "") =>
        this.#memories.delete(id)
          ? ok({ message: "Memory deleted successfully" })
          : { status: 404, body: { detail: "Memory not found" } },
      ),
    ];
  }
}

type Search = { readonly query: string; readonly filters: JsonObject; readonly top_k?: number };

function on(method: string, path: RegExp, answer: Route["answer"]): Route {
  return { method, path, answer };
}

function ok(body: unknown): FakeReply {
  return { status: 200, body };
}

function notFound(): FakeReply {
  return { status: 404, body: { detail: "Not found." } };
}

function invalid(message: string): FakeReply {
  return { status: 400, body: { error: "Invalid request", details: { message } } };
}

function refused(fields: unknown, required: Fields, optional: Fields = {}): FakeReply | undefined {
  const problem = fieldProblem(fields, required, optional);
  return problem === undefined ? undefined : invalid(problem.message);
}

function unprocessable({ field, message }: FieldProblem, place: "body" | "query"): FakeReply {
  return { status: 422, body: { detail: [{ type: "value_error", loc: [place, field], msg: message }] } };
}

function toWire(memory: Mem0Memory) {
  return { ...memory, app_id: null, run_id: null, expiration_date: null, ...TIMES };
}

/** The memories that an add makes. The platform gives what a user said to the user alone, and what the assistant said to the agent alone. */
function factsOf(body: JsonObject, edition: Mem0Edition) {
  const { messages, user_id = null, agent_id = null, metadata = null } = body;
  const isSplit = edition === "platform" && body.infer !== false;
  const said = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
  return (said as readonly { role: string; content: string }[]).flatMap(({ role, content }) => {
    const lost = role === "user" ? { agent_id: null } : { user_id: null };
    const owners = { user_id, agent_id, ...(isSplit ? lost : {}) };
    return isSplit && role === "system" ? [] : [{ ...owners, metadata, memory: content } as Mem0Memory];
  });
}

function namesOwner(fields: JsonObject): boolean {
  return Object.keys(OWNERS).some((key) => typeof fields[key] === "string");
}

function isOf({ user_id, agent_id }: JsonObject, memory: Mem0Memory): boolean {
  return (
    (user_id === undefined || memory.user_id === user_id) &&
    (agent_id === undefined || memory.agent_id === agent_id)
  );
}

// ---- Filters: `{user_id: "u"}`, `{AND: [...]}`, `{metadata: {...}}`

function filterProblem(filters: unknown): string | undefined {
  if (!isObject(filters) || Object.keys(filters).length === 0) return "filters is empty";
  for (const [key, value] of Object.entries(filters)) {
    const inner = key === "AND" || key === "OR" || key === "NOT" ? value : [];
    const isKnown =
      key in OWNERS || ["AND", "OR", "NOT", "metadata", "categories", "created_at"].includes(key);
    if (!isKnown) return `filters: ${key} is an unknown field`;
    const problem = (inner as readonly unknown[]).map(filterProblem).find((each) => each !== undefined);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function passes(filters: JsonObject, memory: Mem0Memory): boolean {
  return Object.entries(filters).every(([key, wanted]) => {
    const each = () => (wanted as readonly JsonObject[]).map((filter) => passes(filter, memory));
    if (key === "AND") return each().every(Boolean);
    if (key === "OR") return each().some(Boolean);
    if (key === "NOT") return !each().some(Boolean);
    if (key === "metadata")
      return Object.entries(wanted as JsonObject).every(([name, value]) => memory.metadata?.[name] === value);
    if (key !== "user_id" && key !== "agent_id") return true;
    return wanted === "*" || memory[key] === wanted;
  });
}
