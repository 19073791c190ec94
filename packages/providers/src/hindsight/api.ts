// The wire of Hindsight below /v1/default/banks/{bank}: one method per request, answers reduced to what this provider uses. An answer
// without what Hindsight sends is a failure: it says neither that something was stored nor that nothing is there.
import { takeCodePoints, withoutUndefined } from "@hermes-memory/core/internal/lib";
import { type HttpCall, type HttpClient, type HttpFailureKind, ServiceError, segment } from "../kit/http.ts";
import {
  type Fields,
  fieldsOf,
  hasList,
  hasText,
  numberIn,
  recordsOf,
  textIn,
} from "../kit/networked/answers.ts";
import type { ObservationScopes } from "./settings.ts";

export type RetainItem = {
  readonly content: string;
  readonly context?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly document_id?: string;
  readonly tags?: readonly string[];
  readonly observation_scopes?: ObservationScopes;
  readonly update_mode?: "append";
};

export type Retain = {
  readonly item: RetainItem;
  readonly isAsync: boolean;
  /** Sent only with `isAsync` and to servers that know it. */
  readonly operationId: string;
};

export type RecallBody = {
  readonly query: string;
  readonly types?: readonly string[] | undefined;
  readonly budget: string;
  readonly max_tokens: number;
  readonly tags?: readonly string[] | undefined;
  readonly tags_match?: string | undefined;
};

/** What a server can do. */
export type ServerFacts = {
  readonly version: string | undefined;
  readonly canAppend: boolean;
  readonly hasOperationIds: boolean;
  readonly hasBankConfig: boolean;
};

export type Missions = { readonly reflect_mission?: string; readonly retain_mission?: string };

const VERSION_MS = 5_000;
/** Unless every request has less. */
const RECALL_MS = 30_000;
/** A server whose version is unknown counts as old for this long. */
const UNKNOWN_FOR_MS = 60_000;
const PAGE = 100;
const QUERY_MAX_CHARS = 500;
/** The answers of a server that has no `/version`. All other failures say nothing about it. */
const NO_VERSION: readonly HttpFailureKind[] = ["not-found", "refused"];

export class HindsightApi {
  readonly #http: HttpClient;
  readonly #recallMs: number;
  readonly #onOld: () => void;
  #server: { readonly facts: ServerFacts; readonly at: number } | undefined;

  /** `onOld` is told once when the server cannot append. */
  constructor(http: HttpClient, timeoutMs: number, onOld: () => void) {
    this.#http = http;
    this.#recallMs = Math.min(RECALL_MS, timeoutMs);
    this.#onOld = onOld;
  }

  get url(): string {
    return this.#http.baseUrl;
  }

  /**
   * Kept for the life of the connection; kept for 60 s if the server has no such address. A server in trouble has no version either:
   * throws `ServiceError`, so that a short outage does not make it an old one.
   */
  async server(signal: AbortSignal): Promise<ServerFacts> {
    const known = this.#server;
    const age = performance.now() - (known?.at ?? 0);
    if (known !== undefined && (known.facts.version !== undefined || age < UNKNOWN_FOR_MS))
      return known.facts;
    const shape = (answer: unknown): boolean => versionIn(answer) !== "";
    const call = { method: "GET", path: "/version", timeoutMs: VERSION_MS, signal, shape } as const;
    const answer = await this.#http.request(call);
    if (!answer.ok && !NO_VERSION.includes(answer.error.kind)) throw new ServiceError(answer.error);
    const facts = serverFacts(answer.ok ? answer.value : undefined);
    this.#server = { facts, at: performance.now() };
    if (!facts.canAppend && known === undefined) this.#onOld();
    return facts;
  }

  /** Resolves to the operation that a server works on in the background; "" for none. */
  async retain(bank: string, { item, isAsync, operationId }: Retain, signal: AbortSignal): Promise<string> {
    const { hasOperationIds } = await this.server(signal);
    const hasId = isAsync && hasOperationIds;
    const call: HttpCall = {
      method: "POST",
      path: `${bankPath(bank)}/memories`,
      json: withoutUndefined({
        items: [withoutUndefined(item)],
        async: isAsync,
        operation_id: hasId ? operationId : undefined,
      }),
      signal,
      // Another text of the same document replaces it, so only an append without an id would be stored twice.
      isRepeatable: hasId || (item.document_id !== undefined && item.update_mode === undefined),
      shape: (answer) =>
        hasSucceeded(answer) && (hasText("operation_id")(answer) || fieldsOf(answer).items_count === 1),
    };
    const answer = await this.#http.request(call);
    if (answer.ok) return textIn(fieldsOf(answer.value).operation_id);
    // The id is ours: an earlier attempt reached the server, with other settings for the same turns.
    if (hasId && answer.error.kind === "conflict" && (await this.#statusOf(bank, operationId, signal)) !== "")
      return operationId;
    throw new ServiceError(answer.error);
  }

  /** The facts that were found, best first. */
  async recall(bank: string, body: RecallBody, signal: AbortSignal): Promise<readonly Fields[]> {
    // Without `entities: null` the server adds what it knows about every entity.
    const json = withoutUndefined({ ...body, include: { entities: null } });
    const path = `${bankPath(bank)}/memories/recall`;
    const timeoutMs = this.#recallMs;
    if (!hasWord(body.query)) return [];
    const call = { method: "POST", path, json, signal, timeoutMs, isRepeatable: true } as const;
    return recordsOf(fieldsOf(await this.#http.send({ ...call, shape: hasList("results") })).results);
  }

  async reflect(bank: string, body: { query: string; budget: string }, signal: AbortSignal): Promise<string> {
    if (!hasWord(body.query)) return "";
    const shape = (answer: unknown): boolean => typeof fieldsOf(answer).text === "string";
    const call = { method: "POST", path: `${bankPath(bank)}/reflect`, json: body, signal, shape } as const;
    return textIn(fieldsOf(await this.#http.send(call)).text);
  }

  async setMissions(bank: string, missions: Missions, signal: AbortSignal): Promise<void> {
    const { hasBankConfig } = await this.server(signal);
    const own = hasBankConfig
      ? ({ method: "PATCH", path: `${bankPath(bank)}/config`, json: { updates: missions } } as const)
      : ({ method: "PUT", path: bankPath(bank), json: missions } as const);
    await this.#http.send({ ...own, isRepeatable: true, signal, shape: hasText("bank_id") });
  }

  /** Any bank is listed without creating one, unlike a request inside a bank. */
  async checkKey(signal: AbortSignal): Promise<void> {
    await this.#http.send({ method: "GET", path: "/v1/default/banks", signal, shape: hasList("banks") });
  }

  // ---- Operations ----

  async isPending(bank: string, operation: string, signal: AbortSignal): Promise<boolean> {
    return ["pending", "processing"].includes(await this.#statusOf(bank, operation, signal));
  }

  /** "" for an operation that is not there; newer servers say `not_found`. */
  async #statusOf(bank: string, operation: string, signal: AbortSignal): Promise<string> {
    const path = operationPath(bank, operation);
    const answer = await this.#http.find({ method: "GET", path, signal, shape: hasText("status") });
    const status = textIn(fieldsOf(answer).status);
    return status === "not_found" ? "" : status;
  }

  /** What has begun cannot be cancelled any more; that is no failure. */
  async cancel(bank: string, operation: string, signal: AbortSignal): Promise<void> {
    const path = operationPath(bank, operation);
    const answer = await this.#http.request({ method: "DELETE", path, expects: "nothing", signal });
    if (!answer.ok && answer.error.kind !== "conflict" && answer.error.kind !== "not-found")
      throw new ServiceError(answer.error);
  }

  /** How many writes the server has accepted and not processed; 0 where it cannot say. */
  async pendingCount(bank: string, signal: AbortSignal): Promise<number> {
    const { pending_operations } = fieldsOf(await this.stats(bank, signal));
    return numberIn(pending_operations) ?? 0;
  }

  // ---- Documents and facts ----

  /** {} for a bank that is not there. */
  async stats(bank: string, signal: AbortSignal): Promise<Fields> {
    const shape = (answer: unknown): boolean => {
      const { total_nodes, total_documents } = fieldsOf(answer);
      return numberIn(total_nodes) !== undefined || numberIn(total_documents) !== undefined;
    };
    return fieldsOf(await this.#http.find({ method: "GET", path: `${bankPath(bank)}/stats`, signal, shape }));
  }

  /** Undefined when there is none. */
  async document(bank: string, id: string, signal: AbortSignal): Promise<Fields | undefined> {
    const path = documentPath(bank, id);
    const answer = await this.#http.find({ method: "GET", path, signal, shape: hasText("id") });
    return answer === null ? undefined : fieldsOf(answer);
  }

  async deleteDocument(bank: string, id: string, signal: AbortSignal): Promise<void> {
    await this.#delete(documentPath(bank, id), signal);
  }

  async documents(bank: string, signal: AbortSignal): Promise<readonly Fields[]> {
    return await this.#pages(`${bankPath(bank)}/documents`, {}, signal);
  }

  /** Facts that contain the text, or only its beginning, in any case: a long text does not fit into an address. */
  async factsWith(bank: string, text: string, signal: AbortSignal): Promise<readonly Fields[]> {
    const q = takeCodePoints(text, QUERY_MAX_CHARS);
    return await this.#pages(`${bankPath(bank)}/memories/list`, { q }, signal);
  }

  async deleteBank(bank: string, signal: AbortSignal): Promise<void> {
    await this.#delete(bankPath(bank), signal);
  }

  /** What is not there counts as deleted; an empty answer is none of Hindsight. */
  async #delete(path: string, signal: AbortSignal): Promise<void> {
    const call = { method: "DELETE", path, signal, isRepeatable: true, expects: "json" } as const;
    await this.#http.find({ ...call, shape: hasSucceeded });
  }

  async #pages(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal) {
    const items: Fields[] = [];
    for (;;) {
      const page = { ...query, limit: PAGE, offset: items.length };
      const call = { method: "GET", path, query: page, signal, shape: hasList("items") } as const;
      const answer = fieldsOf(await this.#http.find(call));
      const found = recordsOf(answer.items);
      items.push(...found);
      const total = numberIn(answer.total);
      if (found.length === 0 || (total === undefined ? found.length < PAGE : items.length >= total))
        return items;
    }
  }
}

function hasSucceeded(answer: unknown): boolean {
  return fieldsOf(answer).success === true;
}

function bankPath(bank: string): string {
  return `/v1/default/banks/${segment(bank)}`;
}

function documentPath(bank: string, id: string): string {
  return `${bankPath(bank)}/documents/${segment(id)}`;
}

function operationPath(bank: string, id: string): string {
  return `${bankPath(bank)}/operations/${segment(id)}`;
}

/** The server refuses a query without a letter, digit or underscore: nothing is found then. */
function hasWord(text: string): boolean {
  return /[\p{L}\p{N}_]/u.test(text);
}

/** "" without one. */
function versionIn(answer: unknown): string {
  const { api_version, version } = fieldsOf(answer);
  return textIn(api_version) || textIn(version);
}

function serverFacts(answer: unknown): ServerFacts {
  const { features } = fieldsOf(answer);
  const number = versionIn(answer);
  const isNew = isSince(number, [0, 5, 0]);
  const { store_document_text, bank_config_api } = fieldsOf(features);
  return {
    version: number === "" ? undefined : number,
    canAppend: isNew && store_document_text !== false,
    hasOperationIds: isSince(number, [0, 9, 1]),
    hasBankConfig: bank_config_api === true,
  };
}

function isSince(version: string, wanted: readonly [number, number, number]): boolean {
  const parts = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(version);
  if (parts === null) return false;
  const own = [Number(parts[1]), Number(parts[2]), Number(parts[3] ?? 0)];
  const at = wanted.findIndex((part, index) => part !== own[index]);
  return at === -1 || (own[at] ?? 0) > (wanted[at] ?? 0);
}
