// A fake Supermemory: documents, memories, conversations and containers of the v3 and v4 API. A document becomes one memory and one chunk,
// a conversation one memory per message.
import type { IncomingHttpHeaders } from "node:http";
import { type FakeReply, FakeServer, type SeenRequest } from "./fake-server.ts";
import {
  between,
  type Check,
  type Fields,
  integer,
  isBoolean,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  oneOf,
  type Route,
  route,
  text,
} from "./strict.ts";
import { documentRoutes, tagRoutes } from "./supermemory-documents.ts";
import {
  type ConversationMessage,
  type Hit,
  type SearchMode,
  type StoredConversation,
  type StoredDocument,
  type StoredMemory,
  SupermemoryStore,
} from "./supermemory-store.ts";
import { FILTERS, invalid, iso, METADATA, notFound, passes, refused, TAG, TAGS } from "./supermemory-wire.ts";

export type SupermemoryProfile = { readonly static: readonly string[]; readonly dynamic: readonly string[] };

const SEARCH_FIELDS: Fields = {
  limit: integer(1, 100),
  searchMode: oneOf("memories", "hybrid", "documents"),
  threshold: between(0, 1),
  rerank: isBoolean,
  rewriteQuery: isBoolean,
  include: objectOf({}, { documents: isBoolean, summaries: isBoolean, relatedMemories: isBoolean }),
  filters: FILTERS,
};

const MESSAGE_FIELDS: Fields = { name: text(), tool_calls: listOf(() => undefined), tool_call_id: text() };
const MESSAGE: Check = (value) =>
  objectOf({ role: oneOf("user", "assistant", "system", "tool"), content: text(0) }, MESSAGE_FIELDS)(value) ??
  (isObject(value) && value.content === "" && value.tool_calls === undefined
    ? "has an empty content"
    : undefined);

export class FakeSupermemory extends FakeServer {
  readonly store = new SupermemoryStore();
  /** The least similarity of a hit when a search names none. */
  defaultThreshold = 0.6;
  /** False: a local server without `POST /v4/conversations`. */
  hasConversations = true;
  /** False: a server without `POST /v4/memories`. */
  hasDirectMemories = true;
  readonly #profiles = new Map<string, SupermemoryProfile>();
  readonly #routes: readonly Route[] = [
    ...documentRoutes(this.store),
    ...this.#memoryRoutes(),
    ...tagRoutes(this.store),
  ];

  // ---- For tests

  /** True: what was added can be found only after `settle`. */
  get settleByHand(): boolean {
    return this.store.settleByHand;
  }

  set settleByHand(isByHand: boolean) {
    this.store.settleByHand = isByHand;
  }

  settle(): void {
    this.store.settle();
  }

  /** What the profile of a container says, beside the memories that were stored as static ones. */
  setProfile(containerTag: string, profile: Partial<SupermemoryProfile>): void {
    this.#profiles.set(containerTag, { static: profile.static ?? [], dynamic: profile.dynamic ?? [] });
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

  /** Everything, without ids and times. The document of a conversation is not listed a second time. */
  stored(): unknown {
    const conversations = this.store.conversations();
    const isOfConversation = (id: string) => conversations.some(({ documentId }) => documentId === id);
    return {
      documents: this.store
        .documents()
        .filter(({ id }) => !isOfConversation(id))
        .map(({ id: _, createdAtMs: _created, updatedAtMs: _updated, ...document }) => document),
      conversations: conversations.map(({ documentId: _, posts: _posts, ...conversation }) => conversation),
      memories: this.store.memories().map(({ containerTag, memory, isStatic, isForgotten }) => ({
        containerTag,
        memory,
        isStatic,
        isForgotten,
      })),
      containers: this.store
        .containers()
        .map(({ containerTag, entityContext }) => ({ containerTag, entityContext })),
    };
  }

  // ---- The server

  protected override isAuthorised(headers: IncomingHttpHeaders, token: string): boolean {
    return headers.authorization === `Bearer ${token}` || headers["x-api-key"] === token;
  }

  protected override refusal(): FakeReply {
    return { status: 401, body: { error: "Unauthorized", details: "Invalid API key" } };
  }

  protected override handle(request: SeenRequest): FakeReply {
    const type = request.headers["content-type"] ?? "";
    if (request.body !== undefined && !/^(application\/json|multipart\/form-data)\b/i.test(type))
      return invalid("the body is not JSON");
    const reply = route(this.#routes, request);
    return typeof reply === "string" ? notFound() : reply;
  }

  #memoryRoutes(): readonly Route[] {
    const memories = /^\/v4\/memories$/;
    return [
      {
        method: "POST",
        path: /^\/v4\/search$/,
        answer: ({ body }) =>
          refused(body, { q: text(), containerTag: TAG }, SEARCH_FIELDS) ?? {
            status: 200,
            body: this.#search(body as Search),
          },
      },
      {
        method: "POST",
        path: /^\/v4\/profile$/,
        answer: ({ body }) => {
          const refusal = refused(body, { containerTag: TAG }, { q: text(), threshold: between(0, 1) });
          if (refusal !== undefined) return refusal;
          const { q, ...search } = body as Omit<Search, "q"> & { q?: string };
          const settable = this.#profiles.get(search.containerTag) ?? { static: [], dynamic: [] };
          const own = this.memories(search.containerTag).filter(({ isStatic }) => isStatic);
          const profile = { ...settable, static: [...settable.static, ...own.map(({ memory }) => memory)] };
          const found = q === undefined ? {} : { searchResults: this.#search({ ...search, q }) };
          return { status: 200, body: { profile, ...found } };
        },
      },
      {
        method: "POST",
        path: memories,
        answer: ({ body }) => {
          if (!this.hasDirectMemories) return notFound();
          const memory = objectOf({ content: text() }, { isStatic: isBoolean, metadata: METADATA });
          const refusal = refused(body, { memories: listOf(memory, 1), containerTag: TAG });
          return refusal ?? this.#remember(body as Remember);
        },
      },
      {
        method: "PATCH",
        path: memories,
        answer: ({ body }) => {
          const target = { id: text(), content: text() };
          const refusal =
            refused(body, { containerTag: TAG, newContent: text() }, { ...target, metadata: METADATA }) ??
            refusedTarget(body);
          if (refusal !== undefined) return refusal;
          const { containerTag, id, content, newContent, metadata } = body as MemoryTarget & {
            newContent: string;
            metadata?: JsonObject;
          };
          const old = this.store.find(containerTag, id, content);
          if (old === undefined) return notFound();
          const revised = this.store.revise(old, newContent, metadata);
          const chain = {
            version: revised.version,
            parentMemoryId: revised.parentId,
            rootMemoryId: revised.rootId,
          };
          const rest = { createdAt: iso(revised.createdAtMs), forgetAfter: null, forgetReason: null };
          return { status: 200, body: { id: revised.id, memory: newContent, ...chain, ...rest } };
        },
      },
      {
        method: "DELETE",
        path: memories,
        answer: ({ body }) => {
          const optional = { id: text(), content: text(), reason: text(0) };
          const refusal = refused(body, { containerTag: TAG }, optional) ?? refusedTarget(body);
          if (refusal !== undefined) return refusal;
          const { containerTag, id, content, reason } = body as MemoryTarget & { reason?: string };
          const memory = this.store.find(containerTag, id, content);
          if (memory === undefined) return notFound();
          this.store.forget(memory, reason ?? null);
          return { status: 200, body: { id: memory.id, forgotten: true } };
        },
      },
      {
        method: "POST",
        path: /^\/v4\/conversations$/,
        answer: ({ body }) => {
          if (!this.hasConversations) return notFound();
          const required = {
            conversationId: text(1, 255),
            messages: listOf(MESSAGE, 1),
            containerTags: TAGS,
          };
          const refusal = refused(body, required, { metadata: METADATA });
          if (refusal !== undefined) return refusal;
          const { conversationId, messages, containerTags, metadata } = body as {
            conversationId: string;
            messages: readonly ConversationMessage[];
            containerTags: readonly string[];
            metadata?: JsonObject;
          };
          const { documentId } = this.store.putConversation(
            conversationId,
            containerTags,
            messages,
            metadata ?? null,
          );
          return { status: 200, body: { id: documentId, conversationId, status: "queued" } };
        },
      },
    ];
  }

  #search({ q, containerTag, limit = 10, searchMode = "memories", threshold, filters }: Search) {
    const least = threshold ?? this.defaultThreshold;
    const results = this.store
      .search(q, containerTag, searchMode)
      .filter((hit) => hit.similarity >= least && passes(filters, hit))
      .slice(0, limit)
      .map(hitToWire);
    return { results, timing: 1, total: results.length };
  }

  #remember({ memories, containerTag }: Remember): FakeReply {
    const documentId = `doc_direct_${this.store.memories().length + 1}`;
    const stored = memories.map(({ content, isStatic = false, metadata = null }) =>
      this.store.addMemory({ memory: content, isStatic, metadata, containerTag, documentId }),
    );
    const body = stored.map(({ id, memory, isStatic, createdAtMs }) => ({
      id,
      memory,
      isStatic,
      createdAt: iso(createdAtMs),
    }));
    return { status: 200, body: { documentId, memories: body } };
  }
}

type Search = {
  readonly q: string;
  readonly containerTag: string;
  readonly limit?: number;
  readonly searchMode?: SearchMode;
  readonly threshold?: number;
  readonly filters?: JsonObject;
};

type Remember = {
  readonly containerTag: string;
  readonly memories: readonly {
    readonly content: string;
    readonly isStatic?: boolean;
    readonly metadata?: JsonObject;
  }[];
};

type MemoryTarget = { readonly containerTag: string; readonly id?: string; readonly content?: string };

function hitToWire(hit: Hit) {
  const { similarity } = hit;
  if (hit.kind === "memory") {
    const { id, memory, metadata, version, createdAtMs } = hit.memory;
    return { id, memory, similarity, metadata, updatedAt: iso(createdAtMs), version };
  }
  const { id, content, metadata, updatedAtMs } = hit.document;
  return { id: `chunk_${id}`, chunk: content, similarity, metadata, updatedAt: iso(updatedAtMs) };
}

function refusedTarget(body: unknown): FakeReply | undefined {
  const { id, content } = body as MemoryTarget;
  return id === undefined && content === undefined ? invalid("id or content is required") : undefined;
}
