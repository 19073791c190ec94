// Adding, changing, rating and removing single facts, and copying entries of the built-in memory. Each function runs inside one transaction
// and returns the entities that changed, so that those in memory can be updated after the commit.
import type { Banks } from "./banks.ts";
import type { FactDatabase } from "./database.ts";
import {
  type Entity,
  type EntityDirectory,
  linkFact,
  resolveMentions,
  unlinkFact,
} from "./entity-directory.ts";
import { type Encoder, vectorBytes } from "./phase-vectors.ts";
import type { Scoring } from "./settings.ts";
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

type NewFact = {
  readonly content: string;
  readonly category: string;
  readonly tags: string;
  readonly trust: number;
};

/** `entities`: created or changed; the directory adopts them after the commit. */
type Added = { readonly factId: number; readonly isNew: boolean; readonly entities: readonly Entity[] };

/** A fact with the same content is kept unchanged. */
export function addFact(parts: StoreParts, fact: NewFact): Added {
  const { db } = parts;
  const existing = factIdOf(db, fact.content);
  if (existing !== undefined) return { factId: existing, isNew: false, entities: [] };
  const { vector, entities, changed } = describe(parts, fact.content);
  const { lastId: factId } = db.run(
    "INSERT INTO facts (content, category, tags, trust_score, hrr_vector) VALUES (:content, :category, :tags, :trust, :vector)",
    { ...fact, vector: vectorBytes(vector) },
  );
  linkFact(db, factId, entities);
  parts.banks.renew(fact.category);
  return { factId, isNew: true, entities: changed };
}

export type FactChange = {
  readonly content?: string;
  readonly trustDelta?: number;
  readonly tags?: string;
  readonly category?: string;
};

type Updated =
  | { readonly kind: "updated"; readonly entities: readonly Entity[] }
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
  db.run(
    `UPDATE facts SET content = :content, tags = :tags, category = :category, trust_score = :trust,
       hrr_vector = :vector, updated_at = CURRENT_TIMESTAMP WHERE fact_id = :id`,
    { ...after, id: factId },
  );
  if (described !== undefined) {
    unlinkFact(db, factId);
    linkFact(db, factId, described.entities);
  }
  // Both banks: the Python original forgets the one of the category that a fact has left.
  if (described !== undefined || after.category !== before.category)
    for (const category of new Set([before.category, after.category])) parts.banks.renew(category);
  return { kind: "updated", entities: described?.changed ?? [] };
}

/** Entities are kept, as in the Python original. False when there is no such fact. */
export function removeFact({ db, banks }: StoreParts, factId: number): boolean {
  const before = readFact(db, factId);
  if (before === undefined) return false;
  unlinkFact(db, factId);
  db.run("DELETE FROM hermes_memory_mirrored WHERE fact_id = :factId", { factId });
  db.run("DELETE FROM facts WHERE fact_id = :factId", { factId });
  banks.renew(before.category);
  return true;
}

export type Rated = { readonly oldTrust: number; readonly newTrust: number; readonly helpfulCount: number };

const HELPFUL_STEP = 0.05;
const UNHELPFUL_STEP = -0.1;

export function rateFact({ db }: StoreParts, factId: number, isHelpful: boolean): Rated | undefined {
  const before = readFact(db, factId);
  if (before === undefined) return undefined;
  const newTrust = clamp(before.trust + (isHelpful ? HELPFUL_STEP : UNHELPFUL_STEP));
  const helpfulCount = before.helpful + (isHelpful ? 1 : 0);
  db.run(
    "UPDATE facts SET trust_score = :trust, helpful_count = :helpful, updated_at = CURRENT_TIMESTAMP WHERE fact_id = :id",
    { trust: newTrust, helpful: helpfulCount, id: factId },
  );
  return { oldTrust: before.trust, newTrust, helpfulCount };
}

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

/** The entities that were created or changed. */
export function applyMirror(parts: StoreParts, write: MirrorWrite): readonly Entity[] {
  const old = write.oldText === undefined ? undefined : findMirrored(parts.db, write.target, write.oldText);
  if (write.content !== undefined && old !== undefined) {
    const updated = updateFact(parts, old, { content: write.content });
    if (updated.kind === "updated") {
      markMirrored(parts.db, old, write.target);
      return updated.entities;
    } // or else a fact with the new text already exists: it is kept and the old one removed
  }
  if (old !== undefined) removeFact(parts, old);
  return write.content === undefined ? [] : addMirrored(parts, write, write.content);
}

function addMirrored(parts: StoreParts, { target, trust }: MirrorWrite, content: string): readonly Entity[] {
  const { factId, isNew, entities } = addFact(parts, {
    content,
    category: mirrorCategory(target),
    tags: "",
    trust,
  });
  if (isNew) markMirrored(parts.db, factId, target); // a fact that existed before is not a copy of this entry
  return entities;
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
