// A fake Supermemory with the requests that our provider makes. A document becomes one memory and one chunk, a conversation one memory per
// message.
import type { IncomingHttpHeaders } from "node:http";
import { type FakeReply, FakeServer, rank, type SeenRequest } from "./fake-server.ts";
import {
  between,
  type Check,
  type Fields,
  fieldProblem,
  integer,
  isBoolean,
  isObject,
  type JsonObject,
  listOf,
  nullable,
  objectOf,
  oneOf,
  type Route,
  route,
  text,
  textLike,
} from "./strict.ts";

const TAG = textLike(/^[A-Za-z0-9_.-]{1,100}$/, "is not 1 to 100 letters, digits, '-', '_' or '.'");
const METADATA: Check = (value) => {
  if (!isObject(value)) return "is not an object";
  const isPlain = (each: unknown) =>
    ["string", "number", "boolean"].includes(typeof each) ||
    (Array.isArray(each) && each.every((element) => typeof element === "string"));
  return Object.values(value).every(isPlain) ? undefined : "holds more than texts, numbers and booleans";
};
const DOCUMENT: Fields = {
  metadata: METADATA,
  entityContext: text(0, 1500),
  customId: TAG,
  title: text(),
  taskType: oneOf("memory", "superrag"),
  filepath: text(),
  containerTag: TAG,
  containerTags: listOf(TAG, 1),
};
const SEARCH: Fields = {
  limit: integer(1, 100),
  searchMode: oneOf("memories", "hybrid", "documents"),
  threshold: between(0, 1),
  rerank: isBoolean,
  rewriteQuery: isBoolean,
  include: (value) => (isObject(value) ? undefined : "is not an object"),
  filters: (value) => (isObject(value) ? undefined : "is not an object"),
};
const MESSAGE: Check = (value) =>
  objectOf(
    { role: oneOf("user", "assistant", "system", "tool"), content: text(0) },
    { name: text(), tool_calls: listOf(() => undefined), tool_call_id: text() },
  )(value);

export type SupermemoryProfile = { readonly static: readonly string[]; readonly dynamic: readonly string[] };

export type StoredDocument = {
  readonly id: string;
  readonly customId: string | null;
  readonly containerTags: readonly string[];
  readonly title: string;
  readonly content: string;
  readonly metadata: JsonObject | null;
  readonly entityContext: string | null;
  readonly status: "queued" | "done";
};

export type StoredMemory = {
  readonly id: string;
  readonly documentId: string;
  readonly containerTag: string;
  readonly memory: string;
  readonly metadata: JsonObject | null;
  readonly isForgotten: boolean;
  readonly createdAtMs: number;
};

type ConversationMessage = { readonly role: string; readonly content: string } & JsonObject;

export type StoredConversation = {
  readonly conversationId: string;
  readonly containerTags: readonly string[];
  readonly documentId: string;
  readonly messages: readonly ConversationMessage[];
  readonly metadata: JsonObject | null;
};

type Container = { readonly containerTag: string; readonly entityContext: string | null };
type DocumentInput = Partial<Omit<StoredDocument, "status">> & { readonly containerTag?: string };

/** What it holds. No HTTP here. */
class Store {
  settleByHand = false;
  readonly #documents = new Map<string, StoredDocument>();
  readonly #memories = new Map<string, StoredMemory>();
  readonly #conversations = new Map<string, StoredConversation>();
  readonly #containers = new Map<string, Container>();
  #count = 0;

  #newId(kind: string): string {
    this.#count += 1;
    return `${kind}_${this.#count}`;
  }

  /** A document of the same containers with the same customId (or the given id) is changed, else one is made. */
  putDocument({ containerTag, ...input }: DocumentInput, givenId?: string): StoredDocument {
    const containerTags = input.containerTags ?? (containerTag === undefined ? [] : [containerTag]);
    const place = JSON.stringify(containerTags);
    const old =
      givenId === undefined
        ? this.documents().find(
            (each) =>
              input.customId !== undefined &&
              each.customId === input.customId &&
              JSON.stringify(each.containerTags) === place,
          )
        : this.#documents.get(givenId);
    const document: StoredDocument = {
      ...{ customId: null, metadata: null, entityContext: null, content: "", ...old },
      title: (input.content ?? "").slice(0, 60),
      ...input,
      ...{ containerTags, id: old?.id ?? givenId ?? this.#newId("doc"), status: "queued" },
    };
    this.#documents.set(document.id, document);
    for (const tag of containerTags) this.container(tag);
    if (!this.settleByHand) this.#process(document);
    return document;
  }

  /** By id or customId. */
  document(id: string): StoredDocument | undefined {
    return this.#documents.get(id) ?? this.documents().find(({ customId }) => customId === id);
  }

  documents(): readonly StoredDocument[] {
    return [...this.#documents.values()];
  }

  documentsOf(containerTag: string): readonly StoredDocument[] {
    return this.documents().filter(({ containerTags }) => containerTags.includes(containerTag));
  }

  /** Whether there was one. Its memories and its conversation go with it. */
  deleteDocument(id: string): boolean {
    const document = this.document(id);
    if (document === undefined) return false;
    this.#documents.delete(document.id);
    for (const each of this.memories()) if (each.documentId === document.id) this.#memories.delete(each.id);
    for (const [key, { documentId }] of this.#conversations)
      if (documentId === document.id) this.#conversations.delete(key);
    return true;
  }

  settle(): void {
    for (const document of this.documents()) if (document.status === "queued") this.#process(document);
  }

  /** Makes the memories of a document: one per message of a conversation, else one of the whole text. Those whose text stays are kept. */
  #process(document: StoredDocument): void {
    this.#documents.set(document.id, { ...document, status: "done" });
    const conversation = this.conversations().find(({ documentId }) => documentId === document.id);
    const texts = new Set(conversation?.messages.map(({ content }) => content) ?? [document.content]);
    texts.delete("");
    for (const containerTag of document.containerTags) {
      const old = this.memories().filter(
        (each) => each.documentId === document.id && each.containerTag === containerTag,
      );
      for (const each of old) if (!texts.has(each.memory)) this.#memories.delete(each.id);
      for (const memory of texts)
        if (!old.some((each) => each.memory === memory))
          this.addMemory({ memory, containerTag, documentId: document.id, metadata: document.metadata });
    }
  }

  addMemory(
    given: Partial<StoredMemory> & Pick<StoredMemory, "memory" | "containerTag" | "documentId">,
  ): StoredMemory {
    const id = given.id ?? this.#newId("mem");
    const memory = { id, metadata: null, isForgotten: false, createdAtMs: Date.now(), ...given };
    this.#memories.set(id, memory);
    this.container(memory.containerTag);
    return memory;
  }

  /** All, also forgotten ones. */
  memories(): readonly StoredMemory[] {
    return [...this.#memories.values()];
  }

  live(containerTag: string): readonly StoredMemory[] {
    return this.memories().filter((each) => each.containerTag === containerTag && !each.isForgotten);
  }

  forget(containerTag: string, id: string): boolean {
    const memory = this.live(containerTag).find((each) => each.id === id);
    if (memory !== undefined) this.#memories.set(id, { ...memory, isForgotten: true });
    return memory !== undefined;
  }

  /** What is new after the common beginning is appended; from the first difference on, the new messages replace the old ones. */
  putConversation({
    conversationId,
    containerTags,
    messages,
    metadata,
  }: Omit<StoredConversation, "documentId">) {
    const key = JSON.stringify([containerTags, conversationId]);
    const old = this.#conversations.get(key);
    const known = old?.messages ?? [];
    const differs = messages.findIndex((each, at) => JSON.stringify(known[at]) !== JSON.stringify(each));
    const whole = differs === -1 ? known : messages;
    const documentId = old?.documentId ?? this.#newId("doc");
    this.#conversations.set(key, { conversationId, containerTags, documentId, messages: whole, metadata });
    const content = whole.map((message) => `${message.role}: ${message.content}`).join("\n");
    this.putDocument({ content, containerTags, metadata }, documentId);
    return documentId;
  }

  conversations(): readonly StoredConversation[] {
    return [...this.#conversations.values()];
  }

  /** Makes it if it is new. */
  container(containerTag: string): Container {
    const known = this.#containers.get(containerTag);
    return known ?? this.changeContainer(containerTag, {});
  }

  containers(): readonly Container[] {
    return [...this.#containers.values()];
  }

  changeContainer(containerTag: string, change: { readonly entityContext?: string }): Container {
    const container = { entityContext: null, ...this.#containers.get(containerTag), containerTag, ...change };
    this.#containers.set(containerTag, container);
    return container;
  }

  /** With everything in it. */
  deleteContainer(containerTag: string): boolean {
    for (const { id } of this.documentsOf(containerTag)) this.deleteDocument(id);
    for (const each of this.memories())
      if (each.containerTag === containerTag) this.#memories.delete(each.id);
    return this.#containers.delete(containerTag);
  }
}

const ISO = "2026-01-02T03:04:05.000Z";

export class FakeSupermemory extends FakeServer {
  readonly store = new Store();
  /** The least similarity of a hit when a search names none. */
  defaultThreshold = 0.6;
  /** False: a local server without `POST /v4/conversations`. */
  hasConversations = true;
  readonly #profiles = new Map<string, SupermemoryProfile>();
  readonly #routes: readonly Route[] = this.#table();

  setProfile(containerTag: string, profile: Partial<SupermemoryProfile>): void {
    this.#profiles.set(containerTag, { static: [], dynamic: [], ...profile });
  }

  /** The memories of a container that can be found. */
  memories(containerTag: string): readonly StoredMemory[] {
    return this.store.live(containerTag);
  }

  /** Also those of conversations. */
  documents(containerTag: string): readonly StoredDocument[] {
    return this.store.documentsOf(containerTag);
  }

  conversation(containerTag: string, conversationId: string): StoredConversation | undefined {
    return this.store
      .conversations()
      .find((each) => each.conversationId === conversationId && each.containerTags.includes(containerTag));
  }

  stored(): unknown {
    return {
      documents: this.store.documents(),
      conversations: this.store.conversations(),
      memories: this.store.memories(),
    };
  }

  protected override isAuthorised(headers: IncomingHttpHeaders, token: string): boolean {
    return headers.authorization === `Bearer ${token}` || headers["x-api-key"] === token;
  }

  protected override refusal(): FakeReply {
    return { status: 401, body: { error: "Unauthorized", details: "Invalid API key" } };
  }

  protected override handle(request: SeenRequest): FakeReply {
    const reply = route(this.#routes, request);
    return typeof reply === "string" ? notFound() : reply;
  }

  #table(): readonly Route[] {
    const { store } = this;
    const on = (method: string, path: RegExp, answer: Route["answer"]): Route => ({ method, path, answer });
    const document = /^\/v3\/documents\/([^/]+)$/;
    const tag = /^\/v3\/container-tags\/([^/]+)$/;
    return [
      on("POST", /^\/v3\/documents$/, ({ body }) => {
        const refusal = refused(body, { content: text() }, DOCUMENT);
        if (refusal !== undefined) return refusal;
        return ok({ id: store.putDocument(body as DocumentInput).id, status: "queued" });
      }),
      on("POST", /^\/v3\/documents\/list$/, ({ body }) => {
        const sorting = { sort: oneOf("createdAt", "updatedAt"), order: oneOf("asc", "desc") };
        const paging = { limit: integer(1, 1000), page: integer(1) };
        const refusal = refused(body, {}, { containerTags: listOf(TAG, 1), ...sorting, ...paging });
        if (refusal !== undefined) return refusal;
        const { containerTags, limit = 10, page = 1, order } = body as List;
        const found = store
          .documents()
          .filter((each) => containerTags?.some((one) => each.containerTags.includes(one)) ?? true);
        if (order !== "asc") found.reverse();
        const totalPages = Math.ceil(found.length / limit);
        const pagination = { currentPage: page, totalItems: found.length, totalPages, limit };
        return ok({ memories: found.slice((page - 1) * limit, page * limit).map(toWire), pagination });
      }),
      on("GET", document, (_, id = "") => {
        const found = store.document(id);
        return found === undefined ? notFound() : ok({ ...toWire(found), content: found.content, raw: null });
      }),
      on("DELETE", document, (_, id = "") => (store.deleteDocument(id) ? { status: 204 } : notFound())),
      on("POST", /^\/v4\/search$/, ({ body }) => {
        const refusal = refused(body, { q: text(), containerTag: TAG }, SEARCH);
        return refusal ?? ok(this.#search(body as Search));
      }),
      on("POST", /^\/v4\/profile$/, ({ body }) => {
        const refusal = refused(body, { containerTag: TAG }, { q: text(), threshold: between(0, 1) });
        if (refusal !== undefined) return refusal;
        const { q, ...search } = body as Omit<Search, "q"> & { readonly q?: string };
        const profile = this.#profiles.get(search.containerTag) ?? { static: [], dynamic: [] };
        return ok({ profile, ...(q === undefined ? {} : { searchResults: this.#search({ ...search, q }) }) });
      }),
      on("DELETE", /^\/v4\/memories$/, ({ body }) => {
        const more = { id: text(), content: text(), reason: text(0) };
        const refusal = refused(body, { containerTag: TAG }, more);
        if (refusal !== undefined) return refusal;
        const { containerTag, id, content } = body as Record<string, string>;
        const wanted =
          id ?? store.live(containerTag ?? "").find(({ memory }) => memory === content)?.id ?? "";
        return store.forget(containerTag ?? "", wanted) ? ok({ id: wanted, forgotten: true }) : notFound();
      }),
      on("POST", /^\/v4\/conversations$/, ({ body }) => {
        if (!this.hasConversations) return notFound();
        const required = {
          conversationId: text(1, 255),
          messages: listOf(MESSAGE, 1),
          containerTags: listOf(TAG, 1),
        };
        const refusal = refused(body, required, { metadata: METADATA });
        if (refusal !== undefined) return refusal;
        const { metadata = null, ...said } = body as Omit<StoredConversation, "documentId">;
        const conversation = { ...said, metadata };
        const id = store.putConversation(conversation);
        return ok({ id, conversationId: conversation.conversationId, status: "queued" });
      }),
      on("GET", tag, (_, name = "") => {
        const found = store.containers().find(({ containerTag }) => containerTag === name);
        return found === undefined ? notFound() : ok(this.#container(found));
      }),
      on("PATCH", tag, ({ body }, name = "") => {
        const refusal = refused(body, {}, { entityContext: nullable(text(0, 1500)), name: text() });
        return refusal ?? ok(this.#container(store.changeContainer(name, body as object)));
      }),
      on("DELETE", tag, (_, name = "") => {
        const counts = {
          deletedDocumentsCount: store.documentsOf(name).length,
          deletedMemoriesCount: store.live(name).length,
        };
        return store.deleteContainer(name)
          ? ok({ success: true, containerTag: name, ...counts })
          : notFound();
      }),
    ];
  }

  #container({ containerTag, entityContext }: Container) {
    const documentCount = this.store.documentsOf(containerTag).length;
    const memoryCount = this.store.live(containerTag).length;
    const about = { id: `ct_${containerTag}`, containerTag, name: containerTag, entityContext };
    return { ...about, documentCount, memoryCount, createdAt: ISO, updatedAt: ISO };
  }

  #search({ q, containerTag, limit = 10, searchMode = "memories", threshold }: Search) {
    const least = threshold ?? this.defaultThreshold;
    const memories = this.store.live(containerTag).map(({ id, memory, metadata, createdAtMs }) => {
      const updatedAt = new Date(createdAtMs).toISOString();
      return { text: memory, hit: { id, memory, metadata, updatedAt, version: 1 } };
    });
    const documents = this.store.documentsOf(containerTag).map(({ id, content, metadata }) => {
      return { text: content, hit: { id: `chunk_${id}`, chunk: content, metadata, updatedAt: ISO } };
    });
    const among = [
      ...(searchMode === "documents" ? [] : memories),
      ...(searchMode === "memories" ? [] : documents),
    ];
    const results = rank(q, among, ({ text }) => text)
      .filter(({ score }) => score >= least)
      .slice(0, limit)
      .map(({ item, score }) => ({ ...item.hit, similarity: score }));
    return { results, timing: 1, total: results.length };
  }
}

type List = {
  readonly containerTags?: readonly string[];
  readonly limit?: number;
  readonly page?: number;
  readonly order?: "asc" | "desc";
};

type Search = {
  readonly q: string;
  readonly containerTag: string;
  readonly limit?: number;
  readonly searchMode?: "memories" | "hybrid" | "documents";
  readonly threshold?: number;
};

function toWire({ id, customId, title, status, metadata, containerTags }: StoredDocument) {
  const about = { id, customId, connectionId: null, title, summary: null, status, type: "text" };
  return { ...about, metadata, containerTags, createdAt: ISO, updatedAt: ISO };
}

function ok(body: unknown): FakeReply {
  return { status: 200, body };
}

function notFound(): FakeReply {
  return { status: 404, body: { error: "Not found" } };
}

function refused(fields: unknown, required: Fields, optional: Fields = {}): FakeReply | undefined {
  const problem = fieldProblem(fields, required, optional);
  if (problem === undefined) return undefined;
  return { status: 400, body: { error: "Invalid request parameters", details: problem.message } };
}
