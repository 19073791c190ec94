// The requests to Supermemory, one method each, and erasing, which takes several. All throw `ServiceError`.
import { isRecord, sha256, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { ForgetReport } from "@hermes-memory/core/internal/providers";
import { type HttpClient, ServiceError, segment } from "../kit/http.ts";
import { type Fields, fieldsOf, numberIn, recordsOf, textIn, textsIn } from "../kit/networked/answers.ts";
import type { Message } from "./conversations.ts";
import { type Hit, hitsIn, type Profile, profileIn } from "./recall.ts";
import type { SearchMode } from "./settings.ts";

export type Metadata = Readonly<Record<string, string | number | boolean>>;

export type NewDocument = {
  readonly content: string;
  readonly tag: string;
  readonly metadata: Metadata;
  readonly entityContext: string;
  /** The same id changes the document instead of making a second one, so every document has one and may be sent again. */
  readonly customId: string;
};

export type NewConversation = {
  readonly id: string;
  readonly tag: string;
  readonly messages: readonly Message[];
  readonly metadata: Metadata;
};

export type StoredDocument = {
  readonly id: string;
  readonly containerTags: readonly string[];
  readonly content: string;
};

type ContainerInfo = { readonly memoryCount: number; readonly entityContext: string };

/** Ingesting a conversation may take longer than other calls. */
const INGEST_MS = 3_000;
const LIST_LIMIT = 100;
/** 100,000 documents. */
const MAX_PAGES = 1_000;
const MAX_QUERY_CHARS = 1_000;

export class SupermemoryApi {
  readonly #http: HttpClient;
  readonly #timeoutMs: number;

  constructor(http: HttpClient, timeoutMs: number) {
    this.#http = http;
    this.#timeoutMs = timeoutMs;
  }

  get baseUrl(): string {
    return this.#http.baseUrl;
  }

  /** The id that the server gave to it. */
  async addDocument({ tag, ...document }: NewDocument, signal: AbortSignal): Promise<string> {
    const json = { ...document, containerTag: tag };
    const answer = await this.#http.send({
      method: "POST",
      path: "/v3/documents",
      json,
      signal,
      isRepeatable: true,
    });
    return acknowledged(answer, "POST /v3/documents");
  }

  async postConversation(
    { id, tag, messages, metadata }: NewConversation,
    signal: AbortSignal,
  ): Promise<void> {
    const json = { conversationId: id, messages, containerTags: [tag], metadata };
    const timeoutMs = this.#timeoutMs + INGEST_MS;
    const path = "/v4/conversations";
    const answer = await this.#http.send({
      method: "POST",
      path,
      json,
      signal,
      timeoutMs,
      isRepeatable: true,
    });
    acknowledged(answer, `POST ${path}`);
  }

  async search(
    query: string,
    { tag, limit, mode, threshold }: { tag: string; limit: number; mode: SearchMode; threshold?: number },
    signal: AbortSignal,
  ): Promise<readonly Hit[]> {
    const json = {
      q: takeCodePoints(query, MAX_QUERY_CHARS),
      containerTag: tag,
      limit,
      searchMode: mode,
      ...(threshold === undefined ? {} : { threshold }),
    };
    const path = "/v4/search";
    const answer = await this.#http.send({ method: "POST", path, json, signal, isRepeatable: true });
    if (!isList(fieldsOf(answer).results)) throw foreign(`POST ${path}`, "without results");
    return hitsIn(answer);
  }

  async profile(
    { tag, query, ...limits }: { tag: string; query?: string; timeoutMs?: number; repeats?: number },
    signal: AbortSignal,
  ): Promise<Profile> {
    const json = {
      containerTag: tag,
      ...(query === undefined ? {} : { q: takeCodePoints(query, MAX_QUERY_CHARS) }),
    };
    const call = {
      method: "POST",
      path: "/v4/profile",
      json,
      signal,
      ...limits,
      isRepeatable: true,
    } as const;
    const answer = await this.#http.send(call);
    const { profile, searchResults } = fieldsOf(answer);
    if (!isRecord(profile) && !isRecord(searchResults))
      throw foreign(`POST ${call.path}`, "without a profile");
    return profileIn(answer);
  }

  /** False: the container has no memory with this id. The server hides the memory and keeps it. */
  async forgetMemory(tag: string, id: string, signal: AbortSignal): Promise<boolean> {
    const json = { containerTag: tag, id };
    const call = { method: "DELETE", path: "/v4/memories", json, signal, isRepeatable: true } as const;
    return await this.#unlessMissing(call, ({ forgotten }) => forgotten === true);
  }

  /** With the memories that were made of it, by its id or `customId`. False: there is none. */
  async deleteDocument(id: string, signal: AbortSignal): Promise<boolean> {
    const path = `/v3/documents/${segment(id)}`;
    return await this.#unlessMissing(
      { method: "DELETE", path, signal, isRepeatable: true },
      ({ success, id: deleted }) => success === true || textIn(deleted) !== "",
    );
  }

  async document(id: string, signal: AbortSignal): Promise<StoredDocument | undefined> {
    const call = { method: "GET", path: `/v3/documents/${segment(id)}`, signal } as const;
    const outcome = await this.#http.request(call);
    if (outcome.ok) {
      acknowledged(outcome.value, `GET ${call.path}`);
      return documentIn(fieldsOf(outcome.value));
    }
    if (outcome.error.kind === "not-found") return undefined;
    throw new ServiceError(outcome.error);
  }

  /** All pages. Contents are missing in the list of some servers: then they are "". */
  async documents(tag: string, signal: AbortSignal): Promise<readonly StoredDocument[]> {
    const found = new Map<string, StoredDocument>();
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const json = { containerTags: [tag], limit: LIST_LIMIT, page, sort: "createdAt", order: "asc" };
      const call = { method: "POST", path: "/v3/documents/list", json, signal, isRepeatable: true } as const;
      const answer = fieldsOf(await this.#http.send(call));
      const list = answer.memories ?? answer.documents;
      const listed = recordsOf(list).map(documentIn);
      if (!isList(list) || listed.some(({ id }) => id === ""))
        throw foreign(`POST ${call.path}`, "without a list of documents");
      for (const document of listed) found.set(document.id, document);
      const pages =
        numberIn(fieldsOf(answer.pagination).totalPages) ?? (listed.length < LIST_LIMIT ? page : page + 1);
      if (page >= pages || listed.length === 0) break;
    }
    return [...found.values()];
  }

  /** Undefined: there is none, or the server does not tell. */
  async container(tag: string, signal: AbortSignal): Promise<ContainerInfo | undefined> {
    const outcome = await this.#http.request({ method: "GET", path: containerPath(tag), signal });
    if (outcome.ok) {
      const { memoryCount, entityContext, containerTag } = fieldsOf(outcome.value);
      if (numberIn(memoryCount) === undefined && containerTag !== tag)
        throw foreign(`GET ${containerPath(tag)}`, "with something else than a container");
      return { memoryCount: numberIn(memoryCount) ?? 0, entityContext: textIn(entityContext) };
    }
    if (outcome.error.kind === "not-found") return undefined;
    throw new ServiceError(outcome.error);
  }

  /** What the server keeps of conversations in this container. */
  async describeContainer(tag: string, entityContext: string, signal: AbortSignal): Promise<void> {
    const json = { entityContext };
    await this.#http.send({ method: "PATCH", path: containerPath(tag), json, signal, isRepeatable: true });
  }

  /** With everything in it. False: there is none, or the server cannot delete containers. */
  async deleteContainer(tag: string, signal: AbortSignal): Promise<boolean> {
    return await this.#unlessMissing(
      { method: "DELETE", path: containerPath(tag), signal, isRepeatable: true },
      ({ success, containerTag }) => success === true || containerTag === tag,
    );
  }

  /** An answer without a body is fine, one that is not `isDone` is not Supermemory's. */
  async #unlessMissing(
    call: Parameters<HttpClient["request"]>[0],
    isDone: (answer: Fields) => boolean,
  ): Promise<boolean> {
    const outcome = await this.#http.request({ ...call, expects: "json-or-nothing" });
    if (outcome.ok) {
      if (outcome.value === undefined || isDone(fieldsOf(outcome.value))) return true;
      throw foreign(`${call.method} ${call.path}`, "and did not confirm it");
    }
    if (outcome.error.kind === "not-found") return false;
    const { kind, message } = outcome.error;
    const isBodyLost = kind === "refused" && call.method === "DELETE" && call.json !== undefined;
    const hint = isBodyLost ? " A proxy in between may drop the body of DELETE requests." : "";
    throw new ServiceError({ ...outcome.error, message: message + hint });
  }
}

/** The id in the answer to a write. Without one, something else than Supermemory answered, and the write counts as not done. */
function acknowledged(answer: unknown, call: string): string {
  const id = textIn(fieldsOf(answer).id);
  if (id !== "") return id;
  throw foreign(call, "without an id");
}

function foreign(call: string, how: string): ServiceError {
  const message = `Supermemory answered ${call} ${how}. Check base_url: another server or a proxy may have answered.`;
  return new ServiceError({ kind: "bad-answer", message, detail: "", mayHaveHappened: true });
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isRecord);
}

function containerPath(tag: string): string {
  return `/v3/container-tags/${segment(tag)}`;
}

function documentIn(fields: Fields): StoredDocument {
  return {
    id: textIn(fields.id),
    containerTags: textsIn(fields.containerTags),
    content: textIn(fields.content),
  };
}

/** The text in an error body: `{error, details}` or `{message}`. */
export function messageOf(body: unknown): string | undefined {
  if (!isRecord(body)) return undefined;
  const { error, details, message } = body;
  const texts = [textIn(error) || textIn(fieldsOf(error).message), textIn(details), textIn(message)];
  return texts.filter((text) => text !== "").join(": ") || undefined;
}

/** The same text in the same container has the same id; two containers never share one, because documents are deleted by it. */
export function documentKey(kind: string, tag: string, text: string): string {
  return `hermes-${kind}-${sha256(JSON.stringify([tag, text])).slice(0, 40)}`;
}

/** What the server takes: texts, numbers and booleans. Lists are joined, anything else becomes JSON; `source` is the old name of `type`. */
export function metadataOf(given: Readonly<Record<string, unknown>>): Metadata {
  const { source, ...rest } = given;
  const values = { ...(source === undefined || rest.type !== undefined ? {} : { type: source }), ...rest };
  const plain = Object.entries(values).flatMap(([key, value]): [string, string | number | boolean][] => {
    if (value === null || value === undefined || key === "") return [];
    if (typeof value === "string" || typeof value === "boolean") return [[key, value]];
    if (typeof value === "number") return Number.isFinite(value) ? [[key, value]] : [];
    if (Array.isArray(value) && value.every((each) => typeof each === "string"))
      return [[key, value.join(", ")]];
    return [[key, shortJson(value)]];
  });
  return { ...Object.fromEntries(plain.slice(0, MAX_METADATA)), sm_source: "hermes" };
}

const MAX_METADATA = 50;
const MAX_METADATA_CHARS = 1_000;

function shortJson(value: unknown): string {
  try {
    return takeCodePoints(JSON.stringify(value) ?? "", MAX_METADATA_CHARS);
  } catch {
    return ""; // a cycle, or too deep
  }
}

// ---- Erasing: documents are deleted for good, with the memories made of them; a memory by itself can only be hidden ----

type EraseOptions = { readonly isDryRun: boolean; readonly signal: AbortSignal };

/** Requests at the same time. */
const PARALLEL = 6;
const SEARCH_LIMIT = 100;

/** Every document that contains the text, and every memory that contains it and was made of another document. */
export async function forgetText(
  api: SupermemoryApi,
  tags: readonly string[],
  text: string,
  { isDryRun, signal }: EraseOptions,
): Promise<ForgetReport> {
  let erased = 0;
  let hidden = 0;
  for (const tag of tags) {
    const all = await withContents(api, tag, signal);
    const documents = all.filter(({ content }) => content.includes(text));
    if (!isDryRun) await inParallel(documents, ({ id }) => api.deleteDocument(id, signal));
    const search = { tag, limit: SEARCH_LIMIT, mode: "memories", threshold: 0 } as const;
    const hits = (await api.search(text, search, signal)).filter((hit) => hit.text.includes(text));
    // What is found now was not made of the deleted documents. Before they are deleted, that can only be guessed from the texts.
    const memories = isDryRun
      ? hits.filter((hit) => !documents.some(({ content }) => content.includes(hit.text)))
      : hits;
    if (!isDryRun) await inParallel(memories, ({ id }) => api.forgetMemory(tag, id, signal));
    erased += documents.length + memories.length;
    hidden += memories.length;
  }
  if (hidden === 0) return { erased };
  const remaining = `${hidden} of them are memories without a document of their own: Supermemory hides such memories and does not delete them. Deleting the container in its console does.`;
  return { erased, remaining };
}

/** Documents and memories, with their containers. */
export async function eraseContainers(
  api: SupermemoryApi,
  tags: readonly string[],
  { isDryRun, signal }: EraseOptions,
): Promise<ForgetReport> {
  let erased = 0;
  const kept: string[] = [];
  for (const tag of tags) {
    const documents = await api.documents(tag, signal);
    // Memories that were written directly have no document.
    const memories = documents.length > 0 ? 0 : ((await api.container(tag, signal))?.memoryCount ?? 0);
    const isWhole = isDryRun || (await api.deleteContainer(tag, signal));
    if (!isWhole) await inParallel(documents, ({ id }) => api.deleteDocument(id, signal));
    erased += documents.length + (isWhole ? memories : 0);
    if (!isWhole && documents.length + memories > 0) kept.push(tag);
  }
  if (kept.length === 0) return { erased };
  const remaining = `The server cannot delete containers. Memories without a document may be left in ${kept.join(", ")}; they have to be deleted there by hand.`;
  return { erased, remaining };
}

async function withContents(api: SupermemoryApi, tag: string, signal: AbortSignal) {
  const listed = await api.documents(tag, signal);
  return await inParallel(listed, async (each) =>
    each.content === "" ? ((await api.document(each.id, signal)) ?? each) : each,
  );
}

async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++)
      results[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, worker));
  return results;
}
