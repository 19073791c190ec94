// The two wires of Mem0 behind one interface: API v3 of the platform, and the server that people host themselves. Answers are read here;
// further in, a memory has a text and an owner.
import { isRecord } from "@hermes-memory/core/internal/lib";
import { type HttpCall, type HttpClient, type HttpFailure, ServiceError, segment } from "../kit/http.ts";
import {
  type Fields,
  fieldsOf,
  hasText,
  isListOfRecords,
  numberIn,
  recordsOf,
  textIn,
} from "../kit/networked/answers.ts";

export type Message = { readonly role: "user" | "assistant"; readonly content: string };

export type NewMemory = {
  readonly messages: readonly Message[];
  readonly userId: string;
  readonly agentId: string;
  /** Stored word for word, without extraction. */
  readonly isVerbatim?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
};

/** `queued`: Mem0 stores it in the background; `eventId` asks how that went. */
export type Added = { readonly state: "stored" | "queued"; readonly eventId: string };

export type EventState = "stored" | "queued" | "failed" | "unknown";

export type Memory = {
  readonly id: string;
  readonly text: string;
  readonly score: number;
  readonly userId: string | undefined;
  readonly agentId: string | undefined;
  readonly metadata: Fields;
};

/** Memories of the user, or of the agent where one is given; with all of the marks. */
export type Filter = {
  readonly userId: string;
  readonly agentId?: string;
  /** Equal values in the metadata. */
  readonly marks?: Readonly<Record<string, string>>;
};

export type Search = { readonly topK: number; readonly isReranked: boolean };

export type ListLimits = {
  readonly pageSize: number;
  readonly pages: number;
  /** Throw when the answer is no list, instead of taking it for an empty one. */
  readonly isStrict?: boolean;
};

export type Listing = {
  readonly memories: readonly Memory[];
  /** False: there are more than the limits allow. */
  readonly isWhole: boolean;
};

/** Every method throws `ServiceError`. */
export interface Mem0Api {
  add(memory: NewMemory, signal: AbortSignal): Promise<Added>;
  eventState(eventId: string, signal: AbortSignal): Promise<EventState>;
  search(query: string, filter: Filter, search: Search, signal: AbortSignal): Promise<readonly Memory[]>;
  list(filter: Filter, limits: ListLimits, signal: AbortSignal): Promise<Listing>;
  /** A memory that is not there counts as deleted. */
  remove(id: string, signal: AbortSignal): Promise<void>;
  /** All memories of the user in one call; undefined: there is no such call. */
  readonly removeAllOf: ((userId: string, signal: AbortSignal) => Promise<void>) | undefined;
  /** Resolves to a line for the user. */
  check(signal: AbortSignal): Promise<string>;
}

// ---- The platform ----

export class PlatformApi implements Mem0Api {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async add(memory: NewMemory, signal: AbortSignal): Promise<Added> {
    const json = addBody(memory);
    return addedIn(
      await this.#send({ method: "POST", path: "/v3/memories/add/", json, signal, shape: isAnswerToAdd }),
    );
  }

  async eventState(eventId: string, signal: AbortSignal): Promise<EventState> {
    const answer = await this.#http.request({
      method: "GET",
      path: `/v1/event/${segment(eventId)}/`,
      signal,
      ignoresBreaker: true,
    });
    return answer.ok ? stateIn(fieldsOf(answer.value)) : "unknown"; // not every server has this call
  }

  async search(
    query: string,
    filter: Filter,
    { topK, isReranked }: Search,
    signal: AbortSignal,
  ): Promise<readonly Memory[]> {
    const answer = await this.#send({
      method: "POST",
      path: "/v3/memories/search/",
      json: { query, filters: filtersOf(filter), top_k: topK, rerank: isReranked },
      isRepeatable: true,
      signal,
    });
    return memoriesIn(answer).filter((memory) => isWanted(memory, filter));
  }

  async list(
    filter: Filter,
    { pageSize, pages, isStrict }: ListLimits,
    signal: AbortSignal,
  ): Promise<Listing> {
    const found = new Map<string, Memory>();
    for (let page = 1; page <= pages; page += 1) {
      const answer = await this.#send({
        method: "POST",
        path: "/v3/memories/",
        query: { page, page_size: pageSize },
        json: { filters: filtersOf(filter) },
        isRepeatable: true,
        signal,
        ...(isStrict === true ? { shape: isListing } : {}),
      });
      const memories = memoriesIn(answer);
      const known = found.size;
      for (const memory of memories) found.set(memory.id, memory);
      // A server that ignores `page` repeats the first page.
      const isLast = isRecord(answer) && "next" in answer ? answer.next === null : memories.length === 0;
      if (isLast || found.size === known) return wanted(found, filter, true);
    }
    return wanted(found, filter, false);
  }

  async remove(id: string, signal: AbortSignal): Promise<void> {
    await this.#http.find({ ...REMOVAL, path: `/v1/memories/${segment(id)}/`, signal });
  }

  readonly removeAllOf = async (userId: string, signal: AbortSignal): Promise<void> => {
    await this.#http.send({ ...REMOVAL, path: "/v1/memories/", query: { user_id: userId }, signal });
  };

  async check(signal: AbortSignal): Promise<string> {
    const answer = fieldsOf(await this.#http.send({ method: "GET", path: "/v1/ping/", signal }));
    const project = textIn(answer.project_id);
    return `${this.#http.baseUrl} accepts the key${project === "" ? "" : ` (project ${project})`}`;
  }

  /** A collection is never missing: 404 means that the server has no such call. */
  async #send(call: HttpCall): Promise<unknown> {
    const answer = await this.#http.request(call);
    if (answer.ok) return answer.value;
    const failure = answer.error;
    if (failure.kind !== "not-found") throw new ServiceError(failure);
    const message = `${this.#http.baseUrl} has no ${call.method} ${call.path}: it speaks an older API of Mem0, or is not the Mem0 Platform. Set 'host' to a server with API v3, or 'api' to oss for a self-hosted one.`;
    throw new ServiceError({ ...failure, message });
  }
}

function filtersOf({ userId, agentId, marks }: Filter): Fields {
  const owner =
    agentId === undefined ? { user_id: userId } : { OR: [{ user_id: userId }, { agent_id: agentId }] };
  return marks === undefined ? owner : { AND: [owner, { metadata: marks }] };
}

// ---- A server of one's own ----

/** The most that the server returns: it has no pages. */
const LONGEST_LIST = 1000;

export class SelfHostedApi implements Mem0Api {
  readonly #http: HttpClient;
  /** Earlier revisions look for the user at the top level of a search. */
  #isOlder = false;
  readonly removeAllOf = undefined;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async add(memory: NewMemory, signal: AbortSignal): Promise<Added> {
    const json = addBody(memory);
    await this.#http.send({ method: "POST", path: "/memories", json, signal, shape: isResult });
    return { state: "stored", eventId: "" };
  }

  async eventState(): Promise<EventState> {
    return "unknown";
  }

  /** Memories of this server have both ids, so the user's filter finds those of the agent too. */
  async search(
    query: string,
    filter: Filter,
    { topK }: Search,
    signal: AbortSignal,
  ): Promise<readonly Memory[]> {
    const ask = (json: object) =>
      this.#http.request({ method: "POST", path: "/search", json, isRepeatable: true, signal });
    const user = { user_id: filter.userId };
    let answer = this.#isOlder
      ? await ask({ query, ...user })
      : await ask({ query, filters: user, top_k: topK });
    if (!answer.ok && !this.#isOlder && asksForIdentifier(answer.error)) {
      answer = await ask({ query, ...user });
      this.#isOlder = answer.ok;
    }
    if (!answer.ok) throw new ServiceError(answer.error);
    return memoriesIn(answer.value)
      .filter((memory) => isWanted(memory, filter))
      .slice(0, topK);
  }

  async list(
    filter: Filter,
    { pageSize, pages, isStrict }: ListLimits,
    signal: AbortSignal,
  ): Promise<Listing> {
    const limit = Math.min(LONGEST_LIST, pageSize * pages);
    const query = { user_id: filter.userId, top_k: limit };
    const shape = isStrict === true ? { shape: isListing } : {};
    const memories = memoriesIn(
      await this.#http.send({ method: "GET", path: "/memories", query, signal, ...shape }),
    );
    const found = new Map(memories.map((memory) => [memory.id, memory]));
    return wanted(found, filter, found.size < limit);
  }

  async remove(id: string, signal: AbortSignal): Promise<void> {
    await this.#http.find({ ...REMOVAL, path: `/memories/${segment(id)}`, signal });
  }

  /** This server has no call that only checks the key. */
  async check(signal: AbortSignal): Promise<string> {
    const query = { user_id: "hermes-check", top_k: 1 };
    await this.#http.send({ method: "GET", path: "/memories", query, signal });
    return `${this.#http.baseUrl} answers`;
  }
}

function asksForIdentifier({ status, detail }: HttpFailure): boolean {
  return [400, 422, 500].includes(status ?? 0) && /identifier|user_id/i.test(detail);
}

// ---- What both have in common ----

function addBody({ messages, userId, agentId, isVerbatim, metadata }: NewMemory): object {
  return {
    messages,
    user_id: userId,
    agent_id: agentId,
    ...(isVerbatim === true ? { infer: false } : {}),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** An answer of any other shape does not prove that something was stored. */
function isAnswerToAdd(answer: unknown): boolean {
  const fields = addFields(answer);
  return stateIn(fields) !== "unknown" || textIn(fields.event_id) !== "" || isResult(answer);
}

/** Older servers answer a list with one object. */
function addFields(answer: unknown): Fields {
  return fieldsOf(Array.isArray(answer) ? answer[0] : answer);
}

function addedIn(answer: unknown): Added {
  const fields = addFields(answer);
  const state = stateIn(fields);
  const eventId = textIn(fields.event_id);
  if (state === "failed") {
    const detail = textIn(fields.message);
    const message = `Mem0 could not store it: ${detail || "it gives no reason"}`;
    throw new ServiceError({ kind: "refused", message, detail, status: 200, mayHaveHappened: false });
  }
  if (state !== "unknown") return { state, eventId };
  return { state: eventId === "" ? "stored" : "queued", eventId };
}

function stateIn({ status }: Fields): EventState {
  const word = textIn(status).toUpperCase();
  if (word === "SUCCEEDED") return "stored";
  if (word === "FAILED") return "failed";
  return ["PENDING", "RUNNING", "QUEUED", "PROCESSING"].includes(word) ? "queued" : "unknown";
}

/** `{results: [...]}`, or a bare list of the older API. */
function listIn(answer: unknown): unknown {
  return isRecord(answer) ? answer.results : answer;
}

/** Whether the answer is a list. A bare `[]` proves nothing: Mem0 says `{results: []}`. */
function isResult(answer: unknown): boolean {
  const list = listIn(answer);
  return isListOfRecords(list) && (list !== answer || recordsOf(list).length > 0);
}

/** Whether the answer is a list of stored memories and nothing else. */
function isListing(answer: unknown): boolean {
  return isResult(answer) && recordsOf(listIn(answer)).every(({ id }) => textIn(id) !== "");
}

/** The memories in the answer, as far as it has some. */
function memoriesIn(answer: unknown): readonly Memory[] {
  return recordsOf(listIn(answer)).map((each) => ({
    id: textIn(each.id),
    text: textIn(each.memory).toWellFormed(),
    score: numberIn(each.score) ?? 0,
    userId: textIn(each.user_id) || undefined,
    agentId: textIn(each.agent_id) || undefined,
    metadata: fieldsOf(each.metadata),
  }));
}

function wanted(found: ReadonlyMap<string, Memory>, filter: Filter, isWhole: boolean): Listing {
  return { memories: [...found.values()].filter((memory) => isWanted(memory, filter)), isWhole };
}

/**
 * The filter again, because a server may ignore parts of it: a record with the agent's id can have another user's id. Servers that
 * return no ids are trusted.
 */
function isWanted(memory: Memory, { userId, agentId, marks = {} }: Filter): boolean {
  const isOwn =
    memory.userId === undefined
      ? memory.agentId === undefined || memory.agentId === agentId
      : memory.userId === userId;
  return isOwn && Object.entries(marks).every(([key, value]) => memory.metadata[key] === value);
}

/** Mem0 answers a deletion with a `message`, or with nothing. */
const REMOVAL = { method: "DELETE", isRepeatable: true, shape: hasText("message") } as const;
