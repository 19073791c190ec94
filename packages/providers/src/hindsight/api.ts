// The wire of Hindsight below /v1/default/banks/{bank}: one method per request, answers reduced to what this provider uses. An answer
// without what Hindsight sends is a failure: it says neither that something was stored nor that nothing is there.
import { isRecord, takeCodePoints, withoutUndefined } from "@hermes-memory/core/internal/lib";
import { type HttpCall, type HttpClient, type HttpFailureKind, ServiceError, segment } from "../kit/http.ts";
import { type Fields, fieldsOf, numberIn, textIn } from "../kit/networked/answers.ts";
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
    const call = { method: "GET", path: "/version", timeoutMs: VERSION_MS, signal } as const;
    const answer = await this.#http.request(call);
    if (!answer.ok && !NO_VERSION.includes(answer.error.kind)) throw new ServiceError(answer.error);
    if (answer.ok && versionIn(answer.value) === "") throw this.#unexpected(call, "has no version");
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
    };
    const answer = await this.#http.request(call);
    if (answer.ok) {
      const { operation_id, items_count } = this.#succeeded(call, answer.value);
      const operation = textIn(operation_id);
      if (operation === "" && items_count !== 1)
        throw this.#unexpected(call, "counts no item and names no operation");
      return operation;
    }
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
    const call = {
      method: "POST",
      path,
      json,
      signal,
      timeoutMs: this.#recallMs,
      isRepeatable: true,
    } as const;
    if (!hasWord(body.query)) return [];
    const { results } = fieldsOf(await this.#http.send(call));
    return this.#listed(call, results);
  }

  async reflect(bank: string, body: { query: string; budget: string }, signal: AbortSignal): Promise<string> {
    const call = { method: "POST", path: `${bankPath(bank)}/reflect`, json: body, signal } as const;
    if (!hasWord(body.query)) return "";
    const { text } = fieldsOf(await this.#http.send(call));
    if (typeof text !== "string") throw this.#unexpected(call, "has no text");
    return text;
  }

  async setMissions(bank: string, missions: Missions, signal: AbortSignal): Promise<void> {
    const { hasBankConfig } = await this.server(signal);
    const own = hasBankConfig
      ? ({ method: "PATCH", path: `${bankPath(bank)}/config`, json: { updates: missions } } as const)
      : ({ method: "PUT", path: bankPath(bank), json: missions } as const);
    const call = { ...own, isRepeatable: true, signal };
    const { bank_id } = fieldsOf(await this.#http.send(call));
    if (textIn(bank_id) === "") throw this.#unexpected(call, "names no bank");
  }

  /** Any bank is listed without creating one, unlike a request inside a bank. */
  async checkKey(signal: AbortSignal): Promise<void> {
    const call = { method: "GET", path: "/v1/default/banks", signal } as const;
    const { banks } = fieldsOf(await this.#http.send(call));
    this.#listed(call, banks);
  }

  // ---- Operations ----

  async isPending(bank: string, operation: string, signal: AbortSignal): Promise<boolean> {
    return ["pending", "processing"].includes(await this.#statusOf(bank, operation, signal));
  }

  /** "" for an operation that is not there; newer servers say `not_found`. */
  async #statusOf(bank: string, operation: string, signal: AbortSignal): Promise<string> {
    const call = { method: "GET", path: operationPath(bank, operation), signal } as const;
    const answer = await this.#found(call);
    if (answer === undefined) return "";
    const status = textIn(fieldsOf(answer).status);
    if (status === "") throw this.#unexpected(call, "has no status");
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
    const call = { method: "GET", path: `${bankPath(bank)}/stats`, signal } as const;
    const answer = await this.#found(call);
    if (answer === undefined) return {};
    const stats = fieldsOf(answer);
    if (numberIn(stats.total_nodes) === undefined && numberIn(stats.total_documents) === undefined)
      throw this.#unexpected(call, "counts neither facts nor documents");
    return stats;
  }

  /** Undefined when there is none. */
  async document(bank: string, id: string, signal: AbortSignal): Promise<Fields | undefined> {
    const call = { method: "GET", path: documentPath(bank, id), signal } as const;
    const answer = await this.#found(call);
    if (answer === undefined) return undefined;
    const document = fieldsOf(answer);
    if (textIn(document.id) === "") throw this.#unexpected(call, "is no document");
    return document;
  }

  /** Whether there was one. */
  async deleteDocument(bank: string, id: string, signal: AbortSignal): Promise<boolean> {
    const call: HttpCall = { method: "DELETE", path: documentPath(bank, id), signal, isRepeatable: true };
    const answer = await this.#found(call);
    if (answer !== undefined) this.#succeeded(call, answer);
    return answer !== undefined;
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
    const call: HttpCall = { method: "DELETE", path: bankPath(bank), signal, isRepeatable: true };
    const answer = await this.#found(call);
    if (answer !== undefined) this.#succeeded(call, answer);
  }

  async #pages(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal) {
    const items: Fields[] = [];
    for (;;) {
      const page = { ...query, limit: PAGE, offset: items.length };
      const call = { method: "GET", path, query: page, signal } as const;
      const answer = await this.#found(call);
      if (answer === undefined) return items;
      const found = this.#listed(call, fieldsOf(answer).items);
      items.push(...found);
      const total = numberIn(fieldsOf(answer).total);
      if (found.length === 0 || (total === undefined ? found.length < PAGE : items.length >= total))
        return items;
    }
  }

  /** Undefined for 404; null for an empty body. */
  async #found(call: HttpCall): Promise<unknown> {
    const answer = await this.#http.request(call);
    if (answer.ok) return answer.value ?? null;
    if (answer.error.kind === "not-found") return undefined;
    throw new ServiceError(answer.error);
  }

  // ---- Answers of another shape ----

  #listed(call: HttpCall, value: unknown): readonly Fields[] {
    if (!Array.isArray(value) || !value.every(isRecord))
      throw this.#unexpected(call, "has no list of objects");
    return value;
  }

  #succeeded(call: HttpCall, value: unknown): Fields {
    const answer = fieldsOf(value);
    if (answer.success !== true) throw this.#unexpected(call, "does not say 'success: true'");
    return answer;
  }

  /** `why` is a predicate. */
  #unexpected({ method, path }: HttpCall, why: string): ServiceError {
    return new ServiceError({
      kind: "bad-answer",
      message: `The answer to ${method} ${path} from Hindsight ${why}, so it is not taken as one of Hindsight. A proxy or another server may be in between, or the base URL ${this.#http.baseUrl} may be wrong.`,
      detail: "",
      mayHaveHappened: true,
    });
  }
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
