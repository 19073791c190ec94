// The fact store: every operation on the facts of one database. Entities and vectors kept in memory are updated after each commit.
import { type Clock, codePointLength, err, ok, pyStrip, type Result } from "@hermes-memory/core/internal/lib";
import {
  findingIds,
  gateMessage,
  SECRET_THREAT_IDS,
  scanThreats,
  secondGate,
} from "@hermes-memory/core/internal/security";
import { Banks } from "./banks.ts";
import { categoryFilter, FACT_COLUMNS, FactDatabase, type FactRow, toFactRow } from "./database.ts";
import { EntityDirectory, linkedNames } from "./entity-directory.ts";
import {
  addFact,
  applyMirror,
  type CacheUpdate,
  claimFact,
  type FactChange,
  type MirrorTarget,
  type Rated,
  rateFact,
  removeFact,
  type StoreParts,
  updateFact,
} from "./facts.ts";
import { countFactsWith, eraseAllFacts, eraseFacts, findDeletedText, scrubFile } from "./forget.ts";
import { Encoder, vectorBytes } from "./phase-vectors.ts";
import { type SearchHit, type SearchRequest, searchFacts } from "./search.ts";
import type { HolographicSettings } from "./settings.ts";
import { VectorIndex } from "./vector-index.ts";
import {
  type Contradiction,
  findContradictions,
  queryVectors,
  type VectorHit,
  type VectorRequest,
} from "./vector-queries.ts";
import { improvedMentions, referenceMentions } from "./words-and-names.ts";

type StoreOptions = {
  readonly clock: Clock;
  readonly warn: (message: string) => void;
  /** Config `memory.allow_secrets`; default false. */
  readonly allowSecrets?: boolean;
};

type ListRequest = {
  readonly category: string | undefined;
  readonly minTrust: number;
  readonly limit: number;
};

export class FactStore {
  readonly #settings: HolographicSettings;
  readonly #parts: StoreParts;
  readonly #index: VectorIndex;
  readonly #clock: Clock;
  readonly #rules: FactRules;
  readonly #upkeep: Promise<void>;
  #isClosing = false;

  private constructor(db: FactDatabase, settings: HolographicSettings, options: StoreOptions) {
    const { clock, warn, allowSecrets = false } = options;
    const { dim, scoring } = settings;
    const encoder = new Encoder(dim);
    this.#settings = settings;
    this.#clock = clock;
    this.#rules = { allowSecrets };
    this.#parts = {
      db,
      encoder,
      scoring,
      banks: new Banks(db, dim, warn),
      directory: new EntityDirectory(scoring),
      mentionsIn: scoring === "reference" ? referenceMentions : improvedMentions,
    };
    this.#index = new VectorIndex(db, encoder);
    this.#upkeep = this.#renew(warn);
  }

  static async open(settings: HolographicSettings, options: StoreOptions): Promise<FactStore> {
    return new FactStore(await FactDatabase.open(settings.dbPath, options.warn), settings, options);
  }

  async add(
    text: string,
    options: { readonly category?: string; readonly tags?: string } = {},
  ): Promise<Result<{ factId: number; isNew: boolean }, FactRefusal>> {
    const content = checkContent(text, this.#rules);
    if (!content.ok) return content;
    const { category = "general", tags = "" } = options;
    const labels = checkLabels({ category, tags }, this.#rules);
    if (!labels.ok) return labels;
    const fact = { content: content.value, category, tags, trust: this.#settings.defaultTrust };
    const added = await this.#write(
      () => {
        const outcome = addFact(this.#parts, fact);
        claimFact(this.#parts.db, outcome.factId);
        return outcome;
      },
      ({ cacheUpdate }) => [cacheUpdate],
    );
    return ok({ factId: added.factId, isNew: added.isNew });
  }

  /** False when there is no such fact. */
  async update(factId: number, change: FactChange): Promise<Result<boolean, FactRefusal>> {
    const content = change.content === undefined ? undefined : checkContent(change.content, this.#rules);
    if (content?.ok === false) return content;
    const labels = checkLabels(change, this.#rules);
    if (!labels.ok) return labels;
    // A change of trust alone is a rating and does not make the fact the user's own.
    const isRewritten = [change.content, change.tags, change.category].some((each) => each !== undefined);
    const updated = await this.#write(
      () => {
        const outcome = updateFact(this.#parts, factId, { ...change, content: content?.value });
        if (outcome.kind === "updated" && isRewritten) claimFact(this.#parts.db, factId);
        return outcome;
      },
      (outcome) => (outcome.kind === "updated" ? [outcome.cacheUpdate] : []),
    );
    if (updated.kind !== "duplicate") return ok(updated.kind === "updated");
    const message = `fact ${updated.id} has this content already (UNIQUE constraint failed: facts.content). Change or remove that one.`;
    return err({ kind: "duplicate", message });
  }

  async remove(factId: number): Promise<boolean> {
    const removed = await this.#write(
      () => removeFact(this.#parts, factId),
      (outcome) => (outcome === undefined ? [] : [outcome]),
    );
    return removed !== undefined;
  }

  async rate(factId: number, isHelpful: boolean): Promise<Rated | undefined> {
    return this.#write(
      () => rateFact(this.#parts, factId, isHelpful),
      (outcome) => (outcome === undefined ? [] : [outcome.cacheUpdate]),
    );
  }

  async list({ category, minTrust, limit }: ListRequest): Promise<FactRow[]> {
    const { db } = this.#parts;
    const filter = categoryFilter(category);
    const sql = `
      SELECT ${FACT_COLUMNS} FROM facts f WHERE f.trust_score >= :minTrust ${filter.and}
      ORDER BY f.trust_score DESC, f.fact_id LIMIT :limit
    `;
    return db.read(() => db.all<FactRow>(sql, { minTrust, limit, ...filter.values }).map(toFactRow));
  }

  async count(): Promise<number> {
    const { db } = this.#parts;
    return db.read(() => db.get<{ n: number }>("SELECT count(*) AS n FROM facts")?.n ?? 0);
  }

  async search(request: SearchRequest): Promise<SearchHit[]> {
    return this.#parts.db.read(() => searchFacts(this.#parts, this.#settings, request, this.#clock.now()));
  }

  /** Counts that these facts were found. Skipped while another process writes: a count is not worth waiting for. */
  countRetrieval(facts: readonly FactRow[]): void {
    if (facts.length === 0) return;
    const { db } = this.#parts;
    const ids = JSON.stringify(facts.map(({ fact_id }) => fact_id));
    const sql = `
      UPDATE facts SET retrieval_count = retrieval_count + 1
      WHERE fact_id IN (SELECT value FROM json_each(:ids))
    `;
    db.tryWrite(() => void db.run(sql, { ids }));
  }

  async query(request: VectorRequest): Promise<(VectorHit | SearchHit)[]> {
    await this.#upkeep;
    const hits = await queryVectors(this.#parts, this.#index, request);
    if (hits !== undefined) return hits;
    const query = request.kind === "reason" ? request.entities.join(" ") : request.entity;
    const { category, limit } = request;
    const { minTrust, querySyntax } = this.#settings;
    return this.search({ query, category, limit, minTrust, isSafe: querySyntax === "safe" });
  }

  async contradictions(category: string | undefined, limit: number): Promise<Contradiction[]> {
    await this.#upkeep;
    return this.#parts.db.read(() => findContradictions(this.#parts, category, limit));
  }

  /** Copies a write of the built-in memory. */
  async mirror(
    target: MirrorTarget,
    texts: { readonly content: string | undefined; readonly oldText: string | undefined },
  ): Promise<Result<void, FactRefusal>> {
    const content = texts.content === undefined ? undefined : checkContent(texts.content, this.#rules);
    const isRefused = content?.ok === false;
    if (isRefused && texts.oldText === undefined) return content;
    const trust = this.#settings.defaultTrust;
    // If the new text cannot be a fact, the old one is removed all the same, because it is no longer true.
    const kept = content?.ok ? content.value : undefined;
    const write = { target, content: kept, oldText: texts.oldText, trust };
    await this.#write(
      () => applyMirror(this.#parts, write),
      (updates) => updates,
    );
    return isRefused ? content : ok(undefined);
  }

  /** How many facts contain the text. `remaining`: no fact does, but the file contains it in deleted records. */
  async traces(text: string): Promise<{ readonly erased: number; readonly remaining: string | undefined }> {
    const { db } = this.#parts;
    const erased = await db.read(() => countFactsWith(db, text));
    return { erased, remaining: erased > 0 ? undefined : await findDeletedText(db.path, text) };
  }

  /** Erases the facts that contain the text, and the bytes of deleted rows. `remaining`: why bytes may be left in the file. */
  async forget(text: string): Promise<{ readonly erased: number; readonly remaining: string | undefined }> {
    await this.#upkeep;
    const { db, directory } = this.#parts;
    db.overwriteDeleted();
    const updates = await this.#write(
      () => eraseFacts(this.#parts, text),
      (each) => each,
    );
    directory.forget();
    return { erased: updates.length, remaining: await scrubFile(db) };
  }

  /** Erases every fact, entity and bank, and the bytes of deleted rows. The database itself stays: other agents may have it open. */
  async eraseAll(): Promise<{ readonly erased: number; readonly remaining: string | undefined }> {
    await this.#upkeep;
    const { db, directory } = this.#parts;
    db.overwriteDeleted();
    const updates = await this.#write(
      () => eraseAllFacts(this.#parts),
      (each) => each,
    );
    directory.forget();
    return { erased: updates.length, remaining: await scrubFile(db) };
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#upkeep;
    this.#parts.db.close();
  }

  #write<T>(work: () => T, updatesOf: (value: T) => readonly CacheUpdate[]): Promise<T> {
    return this.#parts.db.write(work, (value) => {
      for (const cacheUpdate of updatesOf(value)) this.#updateCaches(cacheUpdate);
    });
  }

  #updateCaches({ entities, put, dropped }: CacheUpdate): void {
    for (const entity of entities) this.#parts.directory.adopt(entity);
    if (dropped !== undefined) this.#index.drop(dropped);
    if (put === undefined) return;
    if (put.vector === undefined) this.#index.touch(put.fact.id, put.fact);
    else this.#index.put(put.fact, put.vector, put.content);
  }

  async #renew(warn: (message: string) => void): Promise<void> {
    try {
      await renewVectors(this.#parts, this.#index, () => this.#isClosing);
    } catch (cause) {
      warn(
        `Vectors of ${this.#settings.dbPath} could not be renewed; facts without one are found by search only: ${cause}`,
      );
    }
  }
}

// ---- Checking a text before it becomes a fact ----
// Not empty, not too long, and no instructions or secrets, because facts become part of the prompt.

const MAX_CONTENT_CHARS = 2000;

export type FactRefusal = {
  readonly kind: "empty" | "too-long" | "blocked" | "duplicate";
  readonly message: string;
};

const MAX_LABEL_CHARS = { category: 64, tags: 500 } as const;

/** Config `memory.allow_secrets`. */
type FactRules = { readonly allowSecrets: boolean };

/** Category and tags become part of a tool's answer. */
function checkLabels(
  labels: { readonly category?: string; readonly tags?: string },
  rules: FactRules,
): Result<void, FactRefusal> {
  for (const name of ["category", "tags"] as const) {
    const text = labels[name] ?? "";
    if (codePointLength(text) > MAX_LABEL_CHARS[name])
      return err({ kind: "too-long", message: `${name} may have ${MAX_LABEL_CHARS[name]} characters` });
    const [id] = [...threatIds(text, rules), ...findingIds(secondGate(text, rules))];
    if (id !== undefined)
      return err({ kind: "blocked", message: `${name} was not stored: it matches ${id}.` });
  }
  return ok(undefined);
}

/** The text to store. */
function checkContent(text: string, rules: FactRules): Result<string, FactRefusal> {
  const content = pyStrip(text.toWellFormed());
  if (content === "") return err({ kind: "empty", message: "content must not be empty" });
  const length = codePointLength(content);
  if (length > MAX_CONTENT_CHARS) {
    const message = `content has ${length} characters; a fact may have ${MAX_CONTENT_CHARS}. Split it into single facts.`;
    return err({ kind: "too-long", message });
  }
  const ids = threatIds(content, rules);
  if (ids.length > 0) {
    const message = `content was not stored: it matches ${ids.join(", ")}. Facts become part of the prompt, so they may not carry instructions or secrets' paths. If it is harmless, reword it.`;
    return err({ kind: "blocked", message });
  }
  const found = secondGate(content, rules);
  return found.length > 0 ? err({ kind: "blocked", message: gateMessage(found) }) : ok(content);
}

function threatIds(text: string, { allowSecrets }: FactRules): string[] {
  const allow = allowSecrets ? SECRET_THREAT_IDS : [];
  return scanThreats(text, "strict", { allow }).map(({ id }) => id);
}

// ---- Renewing vectors ----
//
// A vector is outdated when it has another length than config `hrr_dim`, or is missing because a program without vectors wrote the fact.
// Outdated vectors are computed again in small steps, so that other work goes on meanwhile.

/** In one transaction, which takes about 20 ms. */
const FACTS_PER_STEP = 32;

type Row = {
  readonly id: number;
  readonly content: string;
  readonly category: string;
  readonly trust: number;
  readonly updatedAt: string;
};

/** Stops between two steps when `isStopped`; the next start continues. */
async function renewVectors(parts: StoreParts, index: VectorIndex, isStopped: () => boolean): Promise<void> {
  if (!(await parts.db.read(() => hasOutdated(parts)))) return;
  const learn = (step: Step) => {
    for (const { row, vector } of step) index.put(row, vector, row.content);
  };
  for (let after = 0; !isStopped(); ) {
    const step = await parts.db.write(() => renewSome(parts, after), learn);
    const last = step.at(-1);
    if (last === undefined) break;
    after = last.row.id;
  }
  await renewBanks(parts, isStopped);
}

async function renewBanks({ db, encoder, banks }: StoreParts, isStopped: () => boolean): Promise<void> {
  const categories = await db.read(() =>
    db.all<{ category: string }>("SELECT DISTINCT category FROM facts WHERE category IS NOT NULL"),
  );
  for (const { category } of categories) {
    if (isStopped()) return; // the other banks keep their old length, so the next start renews them
    await db.write(() => banks.rebuild(category));
  }
  await db.write(() => db.run("DELETE FROM memory_banks WHERE dim <> :dim", { dim: encoder.dim }));
}

function hasOutdated(parts: StoreParts): boolean {
  const { db, encoder } = parts;
  const bank = db.get("SELECT 1 FROM memory_banks WHERE dim <> :dim", { dim: encoder.dim });
  return (
    bank !== undefined || db.get(`SELECT 1 FROM facts WHERE ${outdated(parts)}`, bytes(parts)) !== undefined
  );
}

type Step = readonly { readonly row: Row; readonly vector: Float64Array }[];

function renewSome(parts: StoreParts, after: number): Step {
  const { db, encoder } = parts;
  const sql = `
    SELECT fact_id AS id, content, category, trust_score AS trust, updated_at AS updatedAt FROM facts
    WHERE fact_id > :after AND ${outdated(parts)} ORDER BY fact_id LIMIT ${FACTS_PER_STEP}
  `;
  return db.all<Row>(sql, { after, ...bytes(parts) }).map((row) => {
    const vector = encoder.fact(row.content, linkedNames(db, row.id));
    db.run("UPDATE facts SET hrr_vector = :vector WHERE fact_id = :id", {
      vector: vectorBytes(vector),
      id: row.id,
    });
    return { row, vector };
  });
}

/** By the rules of the Python original, a fact without a vector keeps none. */
function outdated({ scoring }: StoreParts): string {
  return `length(hrr_vector) ${scoring === "reference" ? "<>" : "IS NOT"} :bytes`;
}

function bytes({ encoder }: StoreParts): { bytes: number } {
  return { bytes: encoder.dim * 8 };
}
