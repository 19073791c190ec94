// What a fake Supermemory holds: documents, the memories made of them, conversations, containers. No HTTP here.
import { rank } from "./fake-server.ts";
import type { JsonObject } from "./strict.ts";

export type StoredDocument = {
  readonly id: string;
  readonly customId: string | null;
  readonly containerTags: readonly string[];
  readonly title: string;
  readonly content: string;
  readonly metadata: JsonObject | null;
  readonly entityContext: string | null;
  readonly status: "queued" | "done";
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

export type StoredMemory = {
  readonly id: string;
  readonly documentId: string;
  readonly containerTag: string;
  readonly memory: string;
  readonly metadata: JsonObject | null;
  readonly isStatic: boolean;
  readonly version: number;
  /** Of the memory that this one replaces, and of the first one of the chain. */
  readonly parentId: string | null;
  readonly rootId: string;
  /** Forgotten or replaced: kept, and found no more. */
  readonly isForgotten: boolean;
  readonly forgetReason: string | null;
  readonly createdAtMs: number;
};

export type ConversationMessage = { readonly role: string; readonly content: string } & JsonObject;

export type StoredConversation = {
  readonly conversationId: string;
  readonly containerTags: readonly string[];
  readonly documentId: string;
  readonly messages: readonly ConversationMessage[];
  readonly metadata: JsonObject | null;
  /** How often it was sent. */
  readonly posts: number;
};

export type Container = {
  readonly id: string;
  readonly containerTag: string;
  readonly name: string;
  readonly entityContext: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

/** A field that is undefined is kept as it was, or gets its default. */
export type DocumentInput = {
  readonly content?: string;
  readonly containerTags?: readonly string[];
  readonly customId?: string;
  readonly title?: string;
  readonly metadata?: JsonObject;
  readonly entityContext?: string;
};

export class SupermemoryStore {
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

  // ---- Documents

  /** A document of the same containers with the same customId (or the given id) is changed, else one is made. */
  putDocument(input: DocumentInput, givenId?: string): StoredDocument {
    const old = this.#sameDocument(input, givenId);
    const now = Date.now();
    const document: StoredDocument = {
      id: old?.id ?? givenId ?? this.#newId("doc"),
      customId: input.customId ?? old?.customId ?? null,
      containerTags: input.containerTags ?? old?.containerTags ?? [],
      title: input.title ?? old?.title ?? (input.content ?? "").slice(0, 60),
      content: input.content ?? old?.content ?? "",
      metadata: input.metadata ?? old?.metadata ?? null,
      entityContext: input.entityContext ?? old?.entityContext ?? null,
      status: "queued",
      createdAtMs: old?.createdAtMs ?? now,
      updatedAtMs: now,
    };
    this.#documents.set(document.id, document);
    for (const tag of document.containerTags) this.container(tag);
    if (!this.settleByHand) this.#process(document);
    return document;
  }

  #sameDocument({ customId, containerTags }: DocumentInput, givenId: string | undefined) {
    if (givenId !== undefined) return this.#documents.get(givenId);
    if (customId === undefined) return undefined;
    const place = JSON.stringify(containerTags);
    return this.documents().find(
      (each) => each.customId === customId && JSON.stringify(each.containerTags) === place,
    );
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
    for (const { id: memoryId, documentId } of this.memories())
      if (documentId === document.id) this.#memories.delete(memoryId);
    for (const [key, { documentId }] of this.#conversations)
      if (documentId === document.id) this.#conversations.delete(key);
    return true;
  }

  /** Ends the processing of everything that is queued. */
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
      const isGone = ({ version, memory }: StoredMemory) => version === 1 && !texts.has(memory);
      for (const each of old) if (isGone(each)) this.#memories.delete(each.id);
      const known = new Set(old.map(({ memory }) => memory));
      for (const memory of texts)
        if (!known.has(memory))
          this.addMemory({ memory, containerTag, documentId: document.id, metadata: document.metadata });
    }
  }

  // ---- Memories

  addMemory(
    given: Partial<StoredMemory> & Pick<StoredMemory, "memory" | "containerTag" | "documentId">,
  ): StoredMemory {
    const id = given.id ?? this.#newId("mem");
    const memory: StoredMemory = {
      id,
      metadata: null,
      isStatic: false,
      version: 1,
      parentId: null,
      rootId: id,
      isForgotten: false,
      forgetReason: null,
      createdAtMs: Date.now(),
      ...given,
    };
    this.#memories.set(id, memory);
    this.container(memory.containerTag);
    return memory;
  }

  /** All, also forgotten ones. */
  memories(): readonly StoredMemory[] {
    return [...this.#memories.values()];
  }

  /** Those of a container that can be found. */
  live(containerTag: string): readonly StoredMemory[] {
    return this.memories().filter((each) => each.containerTag === containerTag && !each.isForgotten);
  }

  /** By id, else by exact text; undefined: the container has no such memory. */
  find(containerTag: string, id: string | undefined, content: string | undefined): StoredMemory | undefined {
    return this.live(containerTag).find((each) =>
      id === undefined ? each.memory === content : each.id === id,
    );
  }

  forget(memory: StoredMemory, forgetReason: string | null): void {
    this.#memories.set(memory.id, { ...memory, isForgotten: true, forgetReason });
  }

  /** A new version; the old one is found no more. */
  revise(old: StoredMemory, memory: string, metadata: JsonObject | undefined): StoredMemory {
    this.forget(old, null);
    const { containerTag, documentId, isStatic, rootId } = old;
    const chain = { version: old.version + 1, parentId: old.id, rootId };
    const kept = { containerTag, documentId, isStatic, metadata: metadata ?? old.metadata };
    return this.addMemory({ ...kept, ...chain, memory });
  }

  // ---- Conversations

  /**
   * Stores the messages of a conversation. What is new after the common beginning is appended; from the first difference on, the new messages
   * replace the old ones; an earlier state that is sent again changes nothing.
   */
  putConversation(
    conversationId: string,
    containerTags: readonly string[],
    messages: readonly ConversationMessage[],
    metadata: JsonObject | null,
  ): StoredConversation {
    const key = JSON.stringify([containerTags, conversationId]);
    const old = this.#conversations.get(key);
    const whole = merged(old?.messages ?? [], messages);
    const documentId = old?.documentId ?? this.#newId("doc");
    const posts = (old?.posts ?? 0) + 1;
    const conversation = { conversationId, containerTags, documentId, messages: whole, metadata, posts };
    this.#conversations.set(key, conversation);
    const content = whole.map((message) => `${message.role}: ${message.content}`).join("\n");
    this.putDocument({ content, containerTags, metadata: metadata ?? {} }, documentId);
    return conversation;
  }

  conversations(): readonly StoredConversation[] {
    return [...this.#conversations.values()];
  }

  // ---- Containers

  /** Makes it if it is new. */
  container(containerTag: string): Container {
    const known = this.#containers.get(containerTag);
    if (known !== undefined) return known;
    const now = Date.now();
    const times = { createdAtMs: now, updatedAtMs: now };
    const container = {
      id: this.#newId("ct"),
      containerTag,
      name: containerTag,
      entityContext: null,
      ...times,
    };
    this.#containers.set(containerTag, container);
    return container;
  }

  containers(): readonly Container[] {
    return [...this.#containers.values()];
  }

  changeContainer(
    containerTag: string,
    change: Partial<Pick<Container, "name" | "entityContext">>,
  ): Container {
    const container = { ...this.container(containerTag), ...change, updatedAtMs: Date.now() };
    this.#containers.set(containerTag, container);
    return container;
  }

  /** With everything in it. */
  deleteContainer(containerTag: string): void {
    for (const { id } of this.documentsOf(containerTag)) this.deleteDocument(id);
    for (const { id, containerTag: owner } of this.memories())
      if (owner === containerTag) this.#memories.delete(id);
    this.#containers.delete(containerTag);
  }

  // ---- Search

  /** Best first. A hit is a memory, or a document (whose text is its only chunk). */
  search(query: string, containerTag: string, mode: SearchMode): readonly Hit[] {
    const memories = mode === "documents" ? [] : this.live(containerTag);
    const documents =
      mode === "memories" ? [] : this.documentsOf(containerTag).filter(({ status }) => status === "done");
    const found: readonly Found[] = [
      ...memories.map((memory) => ({ kind: "memory" as const, memory })),
      ...documents.map((document) => ({ kind: "chunk" as const, document })),
    ];
    const textOf = (each: Found) => (each.kind === "memory" ? each.memory.memory : each.document.content);
    return rank(query, found, textOf).map(({ item, score }) => ({ ...item, similarity: score }));
  }
}

export type SearchMode = "memories" | "hybrid" | "documents";

type Found =
  | { readonly kind: "memory"; readonly memory: StoredMemory }
  | { readonly kind: "chunk"; readonly document: StoredDocument };

export type Hit = Found & { readonly similarity: number };

function merged(
  old: readonly ConversationMessage[],
  sent: readonly ConversationMessage[],
): readonly ConversationMessage[] {
  const isSame = (index: number) => JSON.stringify(old[index]) === JSON.stringify(sent[index]);
  let common = 0;
  while (common < old.length && common < sent.length && isSame(common)) common += 1;
  return common === sent.length ? old : [...old.slice(0, common), ...sent.slice(common)];
}
