// The requests to Supermemory, one method each, and erasing, which takes several. All throw `ServiceError`.
import { isRecord, sha256, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { ForgetReport } from "@hermes-memory/core/internal/providers";
import { type HttpCall, type HttpClient, ServiceError, segment } from "../kit/http.ts";
import {
  type Fields,
  fieldsOf,
  hasList,
  hasText,
  numberIn,
  recordsOf,
  textIn,
  textsIn,
} from "../kit/networked/answers.ts";
import { inParallel, reportOf } from "../kit/networked/erasing.ts";
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
    return textIn(fieldsOf(await this.#post("/v3/documents", json, { signal, shape: hasText("id") })).id);
  }

  async postConversation(
    { id, tag, messages, metadata }: NewConversation,
    signal: AbortSignal,
  ): Promise<void> {
    const json = { conversationId: id, messages, containerTags: [tag], metadata };
    const timeoutMs = this.#timeoutMs + INGEST_MS;
    await this.#post("/v4/conversations", json, { signal, timeoutMs, shape: hasText("id") });
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
    return hitsIn(await this.#post("/v4/search", json, { signal, shape: hasList("results") }));
  }

  async profile(
    { tag, query, ...limits }: { tag: string; query?: string } & Pick<HttpCall, "timeoutMs" | "isRepeatable">,
    signal: AbortSignal,
  ): Promise<Profile> {
    const q = query === undefined ? {} : { q: takeCodePoints(query, MAX_QUERY_CHARS) };
    const shape = (answer: unknown): boolean => {
      const { profile, searchResults } = fieldsOf(answer);
      return isRecord(profile) || isRecord(searchResults);
    };
    return profileIn(
      await this.#post("/v4/profile", { containerTag: tag, ...q }, { ...limits, signal, shape }),
    );
  }

  /** False: the container has no memory with this id. The server hides the memory and keeps it. */
  async forgetMemory(tag: string, id: string, signal: AbortSignal): Promise<boolean> {
    const json = { containerTag: tag, id };
    try {
      return await this.#delete("/v4/memories", signal, ({ forgotten }) => forgotten === true, json);
    } catch (cause) {
      if (!(cause instanceof ServiceError) || cause.failure.kind !== "refused") throw cause;
      const message = `${cause.message} A proxy in between may drop the body of DELETE requests.`;
      throw new ServiceError({ ...cause.failure, message });
    }
  }

  /** With the memories that were made of it, by its id or `customId`. False: there is none. */
  async deleteDocument(id: string, signal: AbortSignal): Promise<boolean> {
    const isDone = ({ success, id: deleted }: Fields) => success === true || textIn(deleted) !== "";
    return await this.#delete(`/v3/documents/${segment(id)}`, signal, isDone);
  }

  async document(id: string, signal: AbortSignal): Promise<StoredDocument | undefined> {
    const path = `/v3/documents/${segment(id)}`;
    const found = await this.#http.find({ method: "GET", path, signal, shape: hasText("id") });
    return found === null ? undefined : documentIn(fieldsOf(found));
  }

  /** All pages. Contents are missing in the list of some servers: then they are "". */
  async documents(tag: string, signal: AbortSignal): Promise<readonly StoredDocument[]> {
    const found = new Map<string, StoredDocument>();
    const listIn = ({ memories, documents }: Fields): unknown => memories ?? documents;
    const shape = (answer: unknown): boolean => {
      const list = listIn(fieldsOf(answer));
      return Array.isArray(list) && list.every(hasText("id"));
    };
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const json = { containerTags: [tag], limit: LIST_LIMIT, page, sort: "createdAt", order: "asc" };
      const answer = fieldsOf(await this.#post("/v3/documents/list", json, { signal, shape }));
      const listed = recordsOf(listIn(answer)).map(documentIn);
      for (const document of listed) found.set(document.id, document);
      const pages =
        numberIn(fieldsOf(answer.pagination).totalPages) ?? (listed.length < LIST_LIMIT ? page : page + 1);
      if (page >= pages || listed.length === 0) break;
    }
    return [...found.values()];
  }

  /** Undefined: there is none, or the server does not tell. */
  async container(tag: string, signal: AbortSignal): Promise<ContainerInfo | undefined> {
    const shape = (answer: unknown): boolean => {
      const { memoryCount, containerTag } = fieldsOf(answer);
      return numberIn(memoryCount) !== undefined || containerTag === tag;
    };
    const found = await this.#http.find({ method: "GET", path: containerPath(tag), signal, shape });
    if (found === null) return undefined;
    const { memoryCount, entityContext } = fieldsOf(found);
    return { memoryCount: numberIn(memoryCount) ?? 0, entityContext: textIn(entityContext) };
  }

  /** What the server keeps of conversations in this container. */
  async describeContainer(tag: string, entityContext: string, signal: AbortSignal): Promise<void> {
    const json = { entityContext };
    await this.#http.send({ method: "PATCH", path: containerPath(tag), json, signal, isRepeatable: true });
  }

  /** With everything in it. False: there is none, or the server cannot delete containers. */
  async deleteContainer(tag: string, signal: AbortSignal): Promise<boolean> {
    const isDone = ({ success, containerTag }: Fields) => success === true || containerTag === tag;
    return await this.#delete(containerPath(tag), signal, isDone);
  }

  async #post(path: string, json: unknown, more: Partial<HttpCall>): Promise<unknown> {
    return await this.#http.send({ method: "POST", path, json, isRepeatable: true, ...more });
  }

  /** False: it is not there. An answer without a body is fine, one that is not `isDone` is not Supermemory's. */
  async #delete(
    path: string,
    signal: AbortSignal,
    isDone: (answer: Fields) => boolean,
    json?: unknown,
  ): Promise<boolean> {
    const shape = (answer: unknown): boolean => isDone(fieldsOf(answer));
    const call = { method: "DELETE", path, signal, isRepeatable: true, shape } as const;
    return (await this.#http.find(json === undefined ? call : { ...call, json })) !== null;
  }
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
    return [[key, takeCodePoints(JSON.stringify(value), MAX_METADATA_CHARS)]];
  });
  return { ...Object.fromEntries(plain.slice(0, MAX_METADATA)), sm_source: "hermes" };
}

const MAX_METADATA = 50;
const MAX_METADATA_CHARS = 1_000;

// ---- Erasing: documents are deleted for good, with the memories made of them; a memory by itself can only be hidden ----

type EraseOptions = { readonly isDryRun: boolean; readonly signal: AbortSignal };

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
  return reportOf(erased, [
    hidden > 0 &&
      `${hidden} of them are memories without a document of their own: Supermemory hides such memories and does not delete them. Deleting the container in its console does.`,
  ]);
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
  return reportOf(erased, [
    kept.length > 0 &&
      `The server cannot delete containers. Memories without a document may be left in ${kept.join(", ")}; they have to be deleted there by hand.`,
  ]);
}

async function withContents(api: SupermemoryApi, tag: string, signal: AbortSignal) {
  const listed = await api.documents(tag, signal);
  return await inParallel(listed, async (each) =>
    each.content === "" ? ((await api.document(each.id, signal)) ?? each) : each,
  );
}
