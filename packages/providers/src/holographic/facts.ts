// Adding, changing, rating and removing single facts, and copying entries of the built-in memory. Each function runs inside one transaction
// and returns what changed, so that entities and vectors in memory can be updated after the commit.
import type { Banks } from "./banks.ts";
import type { FactDatabase } from "./database.ts";
import {
  type Entity,
  type EntityDirectory,
  linkFact,
  resolveMentions,
  unlinkFact,
} from "./entity-directory.ts";
import { type Encoder, readVector, vectorBytes } from "./phase-vectors.ts";
import type { Scoring } from "./settings.ts";
import type { IndexedFact } from "./vector-index.ts";
import type { Mentions } from "./words-and-names.ts";

/** The parts of an open store that its operations share. */
export type StoreParts = {
  readonly db: FactDatabase;
  readonly encoder: Encoder;
  readonly banks: Banks;
  readonly directory: EntityDirectory;
  readonly scoring: Scoring;
  readonly mentionsIn: (text: string) => Mentions;
};

/** Changes to entities and vectors in memory, to be applied after the commit. */
export type CacheUpdate = {
  readonly entities: readonly Entity[];
  /** `vector` is absent when it did not change. */
  readonly put?: { readonly fact: IndexedFact; readonly content: string; readonly vector?: Float64Array };
  readonly dropped?: number;
};

const NO_UPDATE: CacheUpdate = { entities: [] };

type NewFact = {
  readonly content: string;
  readonly category: string;
  readonly tags: string;
  readonly trust: number;
};

type Added = { readonly factId: number; readonly isNew: boolean; readonly cacheUpdate: CacheUpdate };

/** A fact with the same content is kept unchanged. */
export function addFact(parts: StoreParts, fact: NewFact): Added {
  const { db } = parts;
  const existing = factIdOf(db, fact.content);
  if (existing !== undefined) return { factId: existing, isNew: false, cacheUpdate: NO_UPDATE };
  const { vector, entities, changed } = describe(parts, fact.content);
  const sql = `
    INSERT INTO facts (content, category, tags, trust_score, hrr_vector)
    VALUES (:content, :category, :tags, :trust, :vector) RETURNING fact_id AS id, updated_at AS updatedAt
  `;
  const { content, category, tags, trust } = fact;
  const row = db.get<Stamp>(sql, { content, category, tags, trust, vector: vectorBytes(vector) });
  if (row === undefined) throw new Error("an insert returned no row");
  linkFact(db, row.id, entities);
  parts.banks.change({ category, added: vector });
  const put = { fact: { id: row.id, category, trust, updatedAt: row.updatedAt }, content, vector };
  return { factId: row.id, isNew: true, cacheUpdate: { entities: changed, put } };
}

export type FactChange = {
  readonly content?: string;
  readonly trustDelta?: number;
  readonly tags?: string;
  readonly category?: string;
};

type Updated =
  | { readonly kind: "updated"; readonly cacheUpdate: CacheUpdate }
  | { readonly kind: "unknown" }
  /** The fact `id` already has this content. */
  | { readonly kind: "duplicate"; readonly id: number };

export function updateFact(parts: StoreParts, factId: number, change: FactChange): Updated {
  const { db } = parts;
  const before = readFact(db, factId);
  if (before === undefined) return { kind: "unknown" };
  const content = change.content ?? before.content;
  const twin = change.content === undefined ? undefined : factIdOf(db, content);
  if (twin !== undefined && twin !== factId) return { kind: "duplicate", id: twin };

  const described = change.content === undefined ? undefined : describe(parts, content);
  const after = {
    content,
    tags: change.tags ?? before.tags,
    category: change.category ?? before.category,
    trust: clamp(before.trust + (change.trustDelta ?? 0)),
    vector: described === undefined ? before.vector : vectorBytes(described.vector),
  };
  const sql = `
    UPDATE facts SET content = :content, tags = :tags, category = :category, trust_score = :trust,
      hrr_vector = :vector, updated_at = CURRENT_TIMESTAMP
    WHERE fact_id = :id RETURNING fact_id AS id, updated_at AS updatedAt
  `;
  const row = db.get<Stamp>(sql, { ...after, id: factId });
  if (described !== undefined) {
    unlinkFact(db, factId);
    linkFact(db, factId, described.entities);
  }
  moveInBanks(parts, before, { category: after.category, vector: after.vector });
  const fact = { id: factId, category: after.category, trust: after.trust, updatedAt: row?.updatedAt ?? "" };
  const put = { fact, content, vector: described?.vector };
  return { kind: "updated", cacheUpdate: { entities: described?.changed ?? [], put } };
}

/** Entities are kept, as in the Python original. */
export function removeFact(parts: StoreParts, factId: number): CacheUpdate | undefined {
  const { db, banks, encoder } = parts;
  const before = readFact(db, factId);
  if (before === undefined) return undefined;
  unlinkFact(db, factId);
  db.run("DELETE FROM hermes_memory_mirrored WHERE fact_id = :factId", { factId });
  db.run("DELETE FROM facts WHERE fact_id = :factId", { factId });
  banks.change({ category: before.category, removed: readVector(before.vector, encoder.dim) });
  return { entities: [], dropped: factId };
}

export type Rated = {
  readonly oldTrust: number;
  readonly newTrust: number;
  readonly helpfulCount: number;
  readonly cacheUpdate: CacheUpdate;
};

const HELPFUL_STEP = 0.05;
const UNHELPFUL_STEP = -0.1;

export function rateFact({ db }: StoreParts, factId: number, isHelpful: boolean): Rated | undefined {
  const before = readFact(db, factId);
  if (before === undefined) return undefined;
  const newTrust = clamp(before.trust + (isHelpful ? HELPFUL_STEP : UNHELPFUL_STEP));
  const helpfulCount = before.helpful + (isHelpful ? 1 : 0);
  const sql = `
    UPDATE facts SET trust_score = :trust, helpful_count = :helpful, updated_at = CURRENT_TIMESTAMP
    WHERE fact_id = :id RETURNING fact_id AS id, updated_at AS updatedAt
  `;
  const row = db.get<Stamp>(sql, { trust: newTrust, helpful: helpfulCount, id: factId });
  const fact = { id: factId, category: before.category, trust: newTrust, updatedAt: row?.updatedAt ?? "" };
  const cacheUpdate = { entities: [], put: { fact, content: before.content } };
  return { oldTrust: before.trust, newTrust, helpfulCount, cacheUpdate };
}

type Stamp = { readonly id: number; readonly updatedAt: string };

type StoredFact = {
  readonly content: string;
  readonly tags: string;
  readonly category: string;
  readonly trust: number;
  readonly helpful: number;
  readonly vector: Uint8Array | null;
};

function factIdOf(db: FactDatabase, content: string): number | undefined {
  return db.get<{ id: number }>("SELECT fact_id AS id FROM facts WHERE content = :content", { content })?.id;
}

function readFact(db: FactDatabase, factId: number): StoredFact | undefined {
  const sql = `
    SELECT content, tags, category, trust_score AS trust, helpful_count AS helpful, hrr_vector AS vector
    FROM facts WHERE fact_id = :factId
  `;
  return db.get<StoredFact>(sql, { factId });
}

function describe(
  parts: StoreParts,
  content: string,
): { vector: Float64Array; entities: readonly Entity[]; changed: readonly Entity[] } {
  const { db, directory, scoring, encoder } = parts;
  const { entities, changed } = resolveMentions(db, directory, parts.mentionsIn(content), scoring);
  const names = entities.map(({ name }) => name);
  return { vector: encoder.fact(content, names), entities, changed };
}

/** Updates both banks when the category changes. The Python original forgets the bank of the old category. */
function moveInBanks(
  { banks, encoder }: StoreParts,
  before: { readonly category: string; readonly vector: Uint8Array | null },
  after: { readonly category: string; readonly vector: Uint8Array | null },
): void {
  const removed = readVector(before.vector, encoder.dim);
  const added = readVector(after.vector, encoder.dim);
  if (before.category !== after.category) {
    banks.change({ category: before.category, removed });
    banks.change({ category: after.category, added });
  } else if (before.vector !== after.vector) banks.change({ category: after.category, added, removed });
}

function clamp(trust: number): number {
  return Math.min(1, Math.max(0, trust));
}

// ---- Facts that copy entries of the built-in memory. The table hermes_memory_mirrored lists them. ----

export type MirrorTarget = "memory" | "user";

type MirrorWrite = {
  readonly target: MirrorTarget;
  /** Checked and trimmed; undefined when the entry was removed. */
  readonly content: string | undefined;
  /** The old text of the entry, or a part of it; undefined for a new entry. */
  readonly oldText: string | undefined;
  readonly trust: number;
};

function mirrorCategory(target: MirrorTarget): string {
  return target === "user" ? "user_pref" : "general";
}

export function applyMirror(parts: StoreParts, write: MirrorWrite): CacheUpdate[] {
  const old = write.oldText === undefined ? undefined : findMirrored(parts.db, write.target, write.oldText);
  if (write.content === undefined) return old === undefined ? [] : removed(parts, old);
  if (old === undefined) return [addMirrored(parts, write, write.content)];
  const updated = updateFact(parts, old, { content: write.content });
  if (updated.kind === "updated") {
    markMirrored(parts.db, old, write.target);
    return [updated.cacheUpdate];
  }
  // A fact with the new text already exists: it is kept and the old one removed.
  return [addMirrored(parts, write, write.content), ...removed(parts, old)];
}

function addMirrored(parts: StoreParts, { target, trust }: MirrorWrite, content: string): CacheUpdate {
  const fact = { content, category: mirrorCategory(target), tags: "", trust };
  const { factId, isNew, cacheUpdate } = addFact(parts, fact);
  if (isNew) markMirrored(parts.db, factId, target); // a fact that existed before is not a copy of this entry
  return cacheUpdate;
}

/** The copied fact with exactly this text, or the only copied fact that contains it. */
function findMirrored(db: FactDatabase, target: MirrorTarget, oldText: string): number | undefined {
  const sql = `
    SELECT f.fact_id AS id, f.content = :oldText AS isExact
    FROM hermes_memory_mirrored m JOIN facts f ON f.fact_id = m.fact_id
    WHERE m.target = :target AND instr(f.content, :oldText) > 0 ORDER BY isExact DESC, f.fact_id LIMIT 2
  `;
  const [first, second] = db.all<{ id: number; isExact: number }>(sql, { target, oldText });
  return first && (first.isExact === 1 || second === undefined) ? first.id : undefined;
}

function markMirrored(db: FactDatabase, factId: number, target: MirrorTarget): void {
  const sql = `
    INSERT INTO hermes_memory_mirrored (fact_id, target) VALUES (:factId, :target)
    ON CONFLICT(fact_id) DO UPDATE SET target = excluded.target
  `;
  db.run(sql, { factId, target });
}

/** The fact was added or changed through the tool: from now on a write of an entry does not change it. */
export function claimFact(db: FactDatabase, factId: number): void {
  db.run("DELETE FROM hermes_memory_mirrored WHERE fact_id = :factId", { factId });
}

function removed(parts: StoreParts, factId: number): CacheUpdate[] {
  const cacheUpdate = removeFact(parts, factId);
  return cacheUpdate === undefined ? [] : [cacheUpdate];
}
