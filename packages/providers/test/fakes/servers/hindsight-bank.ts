// What the fake Hindsight keeps for one bank: documents, the facts taken from them, and the operations that write them.
import { rank } from "./fake-server.ts";

export const FACT_TYPES = ["world", "experience", "observation"] as const;

/** One item of a retain request, after its body was checked. */
export type RetainItem = {
  readonly content: string;
  readonly timestamp?: string | null;
  readonly context?: string | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
  readonly document_id?: string | null;
  readonly entities?: readonly { readonly text: string; readonly type?: string | null }[] | null;
  readonly tags?: readonly string[] | null;
  readonly observation_scopes?: unknown;
  readonly strategy?: string | null;
  readonly update_mode?: "replace" | "append" | null;
};

export type HindsightDocument = {
  readonly id: string;
  /** Appended texts are joined with a newline. */
  readonly text: string;
  readonly tags: readonly string[];
  /** The items that were retained into the document since it was last replaced, in order. */
  readonly items: readonly RetainItem[];
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type Fact = {
  readonly id: string;
  readonly text: string;
  readonly type: (typeof FACT_TYPES)[number];
  readonly documentId: string;
  readonly context: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly tags: readonly string[];
  readonly entities: readonly string[];
  /** Of an observation: the fact that it was made from. */
  readonly sources: readonly string[] | null;
  readonly mentionedAt: string;
};

export type Operation = {
  readonly id: string;
  readonly type: "retain" | "file_convert_retain";
  status: "pending" | "completed" | "cancelled";
  readonly items: readonly RetainItem[];
  readonly documentTags: readonly string[];
  /** The request as JSON: the same id with another request is another operation. */
  readonly request: string;
  readonly createdAt: string;
  updatedAt: string;
};

export type TagsMatch = "any" | "all" | "any_strict" | "all_strict" | "exact";

export type RecallFilter = {
  readonly types: readonly string[];
  readonly tags: readonly string[];
  readonly tagsMatch: TagsMatch;
  readonly maxTokens: number;
  readonly minScore: number;
  /** Leaves out a fact of which an observation is in the answer. */
  readonly prefersObservations: boolean;
};

export class Bank {
  readonly id: string;
  name: string;
  readonly documents = new Map<string, HindsightDocument>();
  facts: Fact[] = [];
  readonly operations = new Map<string, Operation>();
  readonly overrides: Record<string, unknown> = {};
  readonly createdAt = new Date().toISOString();
  readonly #nextId: () => string;

  constructor(id: string, nextId: () => string) {
    this.id = id;
    this.name = id;
    this.#nextId = nextId;
  }

  /** Stores the items. Those of one request that name the same document are one text. */
  retain(items: readonly RetainItem[], documentTags: readonly string[], makesObservations: boolean): void {
    const written = new Set<string>();
    for (const item of items) {
      const id = item.document_id || this.#nextId();
      const old = this.documents.get(id);
      const isJoined = old !== undefined && (item.update_mode === "append" || written.has(id));
      if (!isJoined) this.facts = this.facts.filter((fact) => fact.documentId !== id);
      const kept = isJoined ? old : undefined;
      const now = new Date().toISOString();
      const tags = [...(item.tags ?? []), ...documentTags];
      this.documents.set(id, {
        id,
        text: kept === undefined ? item.content : `${kept.text}\n${item.content}`,
        tags: [...new Set([...(kept?.tags ?? []), ...tags])],
        items: [...(kept?.items ?? []), item],
        createdAt: old?.createdAt ?? now,
        updatedAt: now,
      });
      this.#extract(id, item, tags, makesObservations);
      written.add(id);
    }
  }

  /** One fact for each line, and one observation made from it. */
  #extract(documentId: string, item: RetainItem, tags: readonly string[], makesObservations: boolean): void {
    for (const line of item.content.split("\n").filter((each) => each.trim() !== "")) {
      const common = {
        text: line,
        documentId,
        context: item.context ?? null,
        metadata: item.metadata ?? null,
        tags: [...new Set(tags)],
        entities: (item.entities ?? []).map((entity) => entity.text),
        mentionedAt: item.timestamp ?? new Date().toISOString(),
      };
      const fact: Fact = { ...common, id: this.#nextId(), type: "world", sources: null };
      this.facts.push(fact);
      if (makesObservations)
        this.facts.push({ ...common, id: this.#nextId(), type: "observation", sources: [fact.id] });
    }
  }

  /** Deletes the document with its facts and says how many facts that were. */
  deleteDocument(id: string): number | undefined {
    if (!this.documents.delete(id)) return undefined;
    const before = this.facts.length;
    this.facts = this.facts.filter((fact) => fact.documentId !== id);
    return before - this.facts.length;
  }

  retag(id: string, tags: readonly string[]): boolean {
    const document = this.documents.get(id);
    if (document === undefined) return false;
    this.documents.set(id, { ...document, tags, updatedAt: new Date().toISOString() });
    this.facts = this.facts.map((fact) => (fact.documentId === id ? { ...fact, tags } : fact));
    return true;
  }

  /** Deletes documents and facts and says how many facts that were. */
  clear(): number {
    const count = this.facts.length;
    this.facts = [];
    this.documents.clear();
    return count;
  }

  recall(query: string, filter: RecallFilter): readonly { readonly item: Fact; readonly score: number }[] {
    const candidates = this.facts.filter(
      (fact) => filter.types.includes(fact.type) && hasTags(fact.tags, filter.tags, filter.tagsMatch),
    );
    let found = rank(query, candidates, (fact) => fact.text).filter(({ score }) => score >= filter.minScore);
    if (filter.prefersObservations) {
      const observed = new Set(found.flatMap(({ item }) => item.sources ?? []));
      found = found.filter(({ item }) => !observed.has(item.id));
    }
    let tokens = 0;
    return found.filter(({ item }) => {
      tokens += Math.ceil(item.text.length / 4);
      return tokens <= filter.maxTokens;
    });
  }
}

function hasTags(tags: readonly string[], wanted: readonly string[], match: TagsMatch): boolean {
  if (wanted.length === 0) return true;
  const isAny = wanted.some((tag) => tags.includes(tag));
  const isAll = wanted.every((tag) => tags.includes(tag));
  switch (match) {
    case "any":
      return tags.length === 0 || isAny;
    case "all":
      return tags.length === 0 || isAll;
    case "any_strict":
      return isAny;
    case "all_strict":
      return isAll;
    case "exact":
      return isAll && tags.every((tag) => wanted.includes(tag));
    default:
      return match satisfies never;
  }
}
