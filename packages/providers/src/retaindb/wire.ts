// The requests of RetainDB. The service, the open server and the local edition have different paths for some of them; which one a server
// has is learned from 404 and 405.
import { type HttpCall, type HttpClient, ServiceError, segment } from "../kit/http.ts";
import { fieldsOf, hasList, hasText, numberIn, recordsOf, textIn } from "../kit/networked/answers.ts";
import type { Listed } from "../kit/networked/erasing.ts";
import { contentOf, cutUnits, type ReasoningLevel } from "./texts.ts";

export const TIMEOUT_MS = {
  standard: 8_000,
  write: 5_000,
  ingest: 15_000,
  model: 4_000,
  seed: 20_000,
  file: 30_000,
  ingestFile: 60_000,
} as const;

/** Limits of the server's validator, in UTF-16 units. */
const QUERY_UNITS = 5_000;
const QUESTION_UNITS = 1_000;
const SEED_UNITS = 32_000;
export const MEMORY_UNITS = 10_000;

const CONTEXT_TOKENS = 1_200;
export const LIST_LIMIT = 200;
const SEARCH_RESULTS = 50;
/** A path that a server lacks is tried again after this long: the server may have been upgraded. */
const ABSENT_MS = 10 * 60_000;

/**
 * For the calls that recall makes beside its main one. If all of them counted, one recall and one turn would open the breaker of a server
 * that is off, and no later recall would fail where the user can see it.
 */
export const BESIDE = { ignoresBreaker: true } as const;

export type MemoryType = "factual" | "preference" | "goal" | "instruction" | "event" | "opinion";

export type NewMemory = {
  readonly content: string;
  readonly type: MemoryType;
  readonly importance: number;
  readonly sessionId: string;
};

export type Message = { readonly role: string; readonly content: string; readonly timestamp: string };

/** One user's memories in one project. */
export type Scope = { readonly project: string; readonly user: string; readonly agent: string };

// ---- Which answers are RetainDB's ----

/** The id of a stored memory; "" when the server stores it later and has not said. */
export function memoryIdIn(answer: unknown): string {
  const { memory_id, id, memory } = fieldsOf(answer);
  return textIn(memory_id) || textIn(id) || textIn(fieldsOf(memory).id);
}

const isDone = (answer: unknown): boolean => fieldsOf(answer).success === true;
/** The server stores it later. */
const isQueued = (answer: unknown): boolean => hasText("job_id")(answer) || hasText("status_url")(answer);
const isStored = (answer: unknown): boolean => memoryIdIn(answer) !== "" || isQueued(answer);
const isIngested = (answer: unknown): boolean =>
  isDone(answer) || numberIn(fieldsOf(answer).memories_created) !== undefined || isQueued(answer);
/** `{deleted: null}` is the local edition's answer for a memory that is not there. */
const isDeleted = (answer: unknown): boolean => isDone(answer) || "deleted" in fieldsOf(answer);
const isSeed = (answer: unknown): boolean => isDone(answer) || "seeded" in fieldsOf(answer);
const isUploaded = (answer: unknown): boolean => hasText("id")(fieldsOf(answer).file);

/** A path that this server does not have. */
export function isUnknown(cause: unknown): boolean {
  return cause instanceof ServiceError && [404, 405].includes(cause.failure.status ?? 0);
}

// ---- Calls ----

export class RetainDbWire {
  readonly scope: Scope;
  /** Without a user and password. */
  readonly baseUrl: string;
  readonly #http: HttpClient;
  readonly #apiKey: string;
  /** By feature: which of its variants the server has. */
  readonly #variants = new Map<string, number>();
  /** By feature: since when it is known to be missing, in milliseconds. */
  readonly #absent = new Map<string, number>();
  /** 403 SYNC_WRITE_RESTRICTED was answered. */
  #writesLater = false;

  constructor(http: HttpClient, apiKey: string, scope: Scope) {
    this.scope = scope;
    this.baseUrl = http.baseUrl;
    this.#http = http;
    this.#apiKey = apiKey;
  }

  context(query: string, sessionId: string, signal: AbortSignal): Promise<unknown> {
    return this.#search("/v1/context/query", query, sessionId, signal, {
      include_memories: true,
      max_tokens: CONTEXT_TOKENS,
    });
  }

  search(query: string, topK: number, sessionId: string, signal: AbortSignal): Promise<unknown> {
    return this.#search("/v1/memory/search", query, sessionId, signal, {
      top_k: topK,
      include_pending: true,
    });
  }

  #search(path: string, query: string, sessionId: string, signal: AbortSignal, more: object) {
    const { project, user } = this.scope;
    const about = { project, query: cutUnits(query, QUERY_UNITS), user_id: user };
    const json = { ...about, session_id: sessionId || undefined, ...more };
    return this.#send({ method: "POST", path, json, isRepeatable: true, signal, shape: hasList("results") });
  }

  /** The user's memories. */
  profile(signal: AbortSignal, more: Pick<HttpCall, "ignoresBreaker"> = {}): Promise<unknown> {
    const { project, user } = this.scope;
    const common = { method: "GET", signal, shape: hasList("memories"), ...more } as const;
    return this.#anyOf("profile", [
      {
        ...common,
        path: `/v1/memory/profile/${segment(user)}`,
        query: { project, include_pending: "true" },
      },
      { ...common, path: "/v1/memories", query: { project, user_id: user, limit: LIST_LIMIT } },
    ]);
  }

  /** An answer about the user that a language model writes; undefined when the server has no such call. */
  ask(question: string, level: ReasoningLevel, signal: AbortSignal): Promise<unknown> {
    const { project, user } = this.scope;
    const common = { method: "POST", isRepeatable: true, signal, ...BESIDE } as const;
    return this.#ifPresent("ask", [
      {
        ...common,
        path: `/v1/memory/profile/${segment(user)}/ask`,
        json: { project, query: cutUnits(question, QUERY_UNITS), reasoning_level: level },
      },
      {
        ...common,
        path: "/v1/memory/dialectic",
        json: {
          user_id: user,
          question: cutUnits(question, QUESTION_UNITS),
          project,
          reasoning_level: level,
        },
      },
    ]);
  }

  /** Undefined when the server has no such call. */
  agentModel(signal: AbortSignal): Promise<unknown> {
    const { project, agent } = this.scope;
    const path = `/v1/memory/agent/${segment(agent)}/model`;
    const timeoutMs = TIMEOUT_MS.model;
    return this.#ifPresent("agent model", [
      { method: "GET", path, query: { project }, timeoutMs, signal, ...BESIDE },
    ]);
  }

  /** Tells the server what the agent is. False when the server has no such call. */
  async seed(content: string, key: string, signal: AbortSignal): Promise<boolean> {
    const { project, agent } = this.scope;
    const answer = await this.#ifPresent("seed", [
      {
        method: "POST",
        path: `/v1/memory/agent/${segment(agent)}/seed`,
        json: { project, content: cutUnits(content, SEED_UNITS), source: "soul_md" },
        headers: { "idempotency-key": key },
        timeoutMs: TIMEOUT_MS.seed,
        signal,
        shape: isSeed,
      },
    ]);
    return answer !== undefined;
  }

  /** Stores a memory. `key` makes a repeated call harmless. */
  add(memory: NewMemory, key: string, signal: AbortSignal): Promise<unknown> {
    const { project, user } = this.scope;
    const { content, type, importance, sessionId } = memory;
    const body = {
      project,
      content,
      memory_type: type,
      user_id: user,
      session_id: sessionId || undefined,
      importance,
    };
    const call: HttpCall = {
      method: "POST",
      path: "/v1/memory",
      json: body,
      headers: { "idempotency-key": key },
      timeoutMs: TIMEOUT_MS.write,
      isRepeatable: true,
      signal,
      shape: isStored,
    };
    return this.#write(call, (moded) =>
      this.#anyOf("add", [moded, { ...call, path: "/v1/memories", json: { ...body, metadata: {} } }]),
    );
  }

  /** Messages of a conversation, from which the server makes memories. Not repeated within a call: the outbox does that. */
  ingest(
    sessionId: string,
    { user, messages }: { readonly user: string; readonly messages: readonly Message[] },
    key: string,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { project } = this.scope;
    const call: HttpCall = {
      method: "POST",
      path: "/v1/memory/ingest/session",
      json: { project, session_id: sessionId, user_id: user, messages },
      headers: { "idempotency-key": key },
      timeoutMs: TIMEOUT_MS.ingest,
      signal,
      shape: isIngested,
    };
    return this.#write(call, (moded) => this.#send(moded));
  }

  delete(id: string, signal: AbortSignal): Promise<unknown> {
    const common = {
      method: "DELETE",
      timeoutMs: TIMEOUT_MS.write,
      isRepeatable: true,
      expects: "json-or-nothing",
      signal,
      shape: isDeleted,
    } as const;
    return this.#anyOf("delete", [
      { ...common, path: `/v1/memory/${segment(id)}` },
      { ...common, path: `/v1/memories/${segment(id)}` },
    ]);
  }

  /** Deleting what is not there is success. */
  async deleteIfThere(id: string, signal: AbortSignal): Promise<void> {
    await this.delete(id, signal).catch((cause: unknown) => {
      if (!isUnknown(cause)) throw cause;
    });
  }

  /** The user's memories, with those that a search for the hint finds if the server does not list all. */
  async memories(signal: AbortSignal, hint = ""): Promise<Listed> {
    const { memories, count } = fieldsOf(await this.profile(signal));
    const records = recordsOf(memories);
    const total = numberIn(count);
    const isWhole = total === undefined ? records.length < LIST_LIMIT : total <= records.length;
    const searched =
      isWhole || hint === ""
        ? []
        : recordsOf(fieldsOf(await this.search(hint, SEARCH_RESULTS, "", signal)).results).map((record) =>
            fieldsOf(record.memory ?? record),
          );
    // A record that names another user is not ours to delete, whatever the server was asked for.
    const found = [...records, ...searched]
      .filter(({ user_id }) => typeof user_id !== "string" || user_id === this.scope.user)
      .map((record) => ({ id: textIn(record.id), text: contentOf(record) }))
      .filter(({ id }) => id !== "");
    return { found, isWhole };
  }

  /** The memory with exactly this text. */
  async idOf(text: string, signal: AbortSignal): Promise<string | undefined> {
    return (await this.memories(signal)).found.find((memory) => memory.text === text)?.id;
  }

  /** One request that anyone may make and one that needs the key. */
  async check(signal: AbortSignal): Promise<void> {
    const { project, user } = this.scope;
    await this.#send({ method: "GET", path: "/health", expects: "nothing", signal, ignoresBreaker: true });
    await this.#send({
      method: "POST",
      path: "/v1/memory/search",
      json: { project, query: "hello", user_id: user, top_k: 1 },
      signal,
      ignoresBreaker: true,
    });
  }

  // ---- Files ----

  listFiles(prefix: string, limit: number, signal: AbortSignal): Promise<unknown> {
    const query = { limit, prefix: prefix || undefined, project_id: this.scope.project };
    return this.#file({ method: "GET", path: "/v1/files", query, signal, shape: hasList("files") });
  }

  file(id: string, signal: AbortSignal): Promise<unknown> {
    return this.#file({ method: "GET", path: `/v1/files/${segment(id)}`, signal });
  }

  /** The server may redirect to another address, which does not get the key. */
  async fileContent(id: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const path = `/v1/files/${segment(id)}/content`;
    const bytes = await this.#file({ method: "GET", path, expects: "bytes", maxBytes, signal });
    return bytes instanceof Uint8Array ? bytes : new Uint8Array();
  }

  upload(
    { blob, name, path, scope }: { blob: Blob; name: string; path: string; scope: string },
    signal: AbortSignal,
  ): Promise<unknown> {
    const form = new FormData();
    form.append("file", blob, name);
    form.append("path", path);
    form.append("scope", scope);
    form.append("project_id", this.scope.project);
    const timeoutMs = TIMEOUT_MS.file + Math.ceil(blob.size / 1_000); // at least 1 MB per second
    return this.#file({ method: "POST", path: "/v1/files", form, timeoutMs, signal, shape: isUploaded });
  }

  ingestFile(id: string, agent: string | undefined, signal: AbortSignal): Promise<unknown> {
    const { project, user } = this.scope;
    return this.#file({
      method: "POST",
      path: `/v1/files/${segment(id)}/ingest`,
      json: { project, user_id: user, agent_id: agent },
      timeoutMs: TIMEOUT_MS.ingestFile,
      signal,
    });
  }

  deleteFile(id: string, signal: AbortSignal): Promise<unknown> {
    return this.#file({
      method: "DELETE",
      path: `/v1/files/${segment(id)}`,
      expects: "json-or-nothing",
      signal,
      shape: isDeleted,
    });
  }

  async #file(call: HttpCall): Promise<unknown> {
    return await this.#send({ timeoutMs: TIMEOUT_MS.file, ...call });
  }

  // ---- Sending ----

  async #send(call: HttpCall): Promise<unknown> {
    // Only these paths take the key in this header as well.
    const second: Record<string, string> = /^\/v1\/(?:memor|context)/.test(call.path)
      ? { "x-api-key": this.#apiKey }
      : {};
    const { shape } = call;
    const isSound = (answer: unknown) => fieldsOf(answer).success !== false && shape?.(answer) === true;
    return await this.#http.send({
      ...call,
      headers: { ...second, ...call.headers },
      ...(shape === undefined ? {} : { shape: isSound }),
    });
  }

  /** The variant that this server has. The next is tried only if the path is unknown: after a timeout the call may have been executed. */
  async #anyOf(feature: string, variants: readonly HttpCall[]): Promise<unknown> {
    const first = this.#variants.get(feature) ?? 0;
    const order = [...variants.keys()].sort((a, b) => Number(b === first) - Number(a === first));
    let unknown: unknown;
    for (const index of order) {
      try {
        const answer = await this.#send(variants[index] as HttpCall);
        this.#variants.set(feature, index);
        return answer;
      } catch (cause) {
        if (!isUnknown(cause)) throw cause;
        unknown ??= cause;
      }
    }
    throw unknown;
  }

  /** Undefined when the server has none of the variants. */
  async #ifPresent(feature: string, variants: readonly HttpCall[]): Promise<unknown> {
    const since = this.#absent.get(feature);
    if (since !== undefined && performance.now() - since < ABSENT_MS) return undefined;
    try {
      const answer = await this.#anyOf(feature, variants);
      this.#absent.delete(feature);
      return answer ?? {};
    } catch (cause) {
      if (!isUnknown(cause)) throw cause;
      this.#absent.set(feature, performance.now());
      return undefined;
    }
  }

  /** A key that may not write synchronously writes asynchronously. */
  async #write(call: HttpCall, send: (call: HttpCall) => Promise<unknown>): Promise<unknown> {
    const as = (write_mode: "sync" | "async") =>
      send({ ...call, json: { ...fieldsOf(call.json), write_mode } });
    if (this.#writesLater) return await as("async");
    try {
      return await as("sync");
    } catch (cause) {
      if (!isSyncRestricted(cause)) throw cause;
      const answer = await as("async");
      this.#writesLater = true;
      return answer;
    }
  }
}

function isSyncRestricted(cause: unknown): boolean {
  if (!(cause instanceof ServiceError) || cause.failure.status !== 403) return false;
  return fieldsOf(fieldsOf(cause.failure.body).error).code === "SYNC_WRITE_RESTRICTED";
}
