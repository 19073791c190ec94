// The fact store: every operation on the facts of one database. Entities kept in memory are updated after each commit.
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
import { type Entity, EntityDirectory, linkedNames } from "./entity-directory.ts";
import {
  addFact,
  applyMirror,
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

/** `remaining`: why bytes of the text may be left in the file. */
type Erased = { readonly erased: number; readonly remaining: string | undefined };

export class FactStore {
  readonly #settings: HolographicSettings;
  readonly #parts: StoreParts;
  readonly #clock: Clock;
  readonly #rules: FactRules;
  readonly #warn: (message: string) => void;
  readonly #upkeep: Promise<void>;
  #isClosing = false;

  private constructor(db: FactDatabase, settings: HolographicSettings, options: StoreOptions) {
    const { clock, warn, allowSecrets = false } = options;
    const { dim, scoring } = settings;
    const encoder = new Encoder(dim);
    this.#settings = settings;
    this.#warn = warn;
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
    this.#upkeep = this.#renew();
  }

  static async open(settings: HolographicSettings, options: StoreOptions): Promise<FactStore> {
    return new FactStore(await FactDatabase.open(settings.dbPath, options.warn), settings, options);
  }

  async add(
    text: string,
    options: { readonly category?: string; readonly tags?: string } = {},
  ): Promise<Result<{ factId: number; isNew: boolean }, string>> {
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
      ({ entities }) => entities,
    );
    return ok({ factId: added.factId, isNew: added.isNew });
  }

  /** False when there is no such fact. */
  async update(factId: number, change: FactChange): Promise<Result<boolean, string>> {
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
      (outcome) => (outcome.kind === "updated" ? outcome.entities : []),
    );
    if (updated.kind !== "duplicate") return ok(updated.kind === "updated");
    return err(
      `fact ${updated.id} has this content already (UNIQUE constraint failed: facts.content). Change or remove that one.`,
    );
  }

  async remove(factId: number): Promise<boolean> {
    return this.#parts.db.write(() => removeFact(this.#parts, factId));
  }

  async rate(factId: number, isHelpful: boolean): Promise<Rated | undefined> {
    return this.#parts.db.write(() => rateFact(this.#parts, factId, isHelpful));
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
    const hits = await queryVectors(this.#parts, request);
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
  ): Promise<Result<void, string>> {
    const content = texts.content === undefined ? undefined : checkContent(texts.content, this.#rules);
    const isRefused = content?.ok === false;
    if (isRefused && texts.oldText === undefined) return content;
    const trust = this.#settings.defaultTrust;
    // If the new text cannot be a fact, the old one is removed all the same, because it is no longer true.
    const kept = content?.ok ? content.value : undefined;
    const write = { target, content: kept, oldText: texts.oldText, trust };
    await this.#write(
      () => applyMirror(this.#parts, write),
      (entities) => entities,
    );
    return isRefused ? content : ok(undefined);
  }

  /** How many facts contain the text. `remaining`: no fact does, but the file contains it in deleted records. */
  async traces(text: string): Promise<Erased> {
    const { db } = this.#parts;
    const erased = await db.read(() => countFactsWith(db, text));
    return { erased, remaining: erased > 0 ? undefined : await findDeletedText(db.path, text) };
  }

  /** Erases the facts that contain the text, and the bytes of deleted rows. `remaining`: why bytes may be left in the file. */
  async forget(text: string): Promise<Erased> {
    return await this.#erase(() => eraseFacts(this.#parts, text));
  }

  /** Erases every fact, entity and bank, and the bytes of deleted rows. The database itself stays: other agents may have it open. */
  async eraseAll(): Promise<Erased> {
    return await this.#erase(() => eraseAllFacts(this.#parts));
  }

  async #erase(erase: () => number): Promise<Erased> {
    await this.#upkeep;
    const { db, directory } = this.#parts;
    db.overwriteDeleted();
    const erased = await db.write(erase);
    directory.forget();
    return { erased, remaining: await scrubFile(db) };
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#upkeep;
    const { db, banks } = this.#parts;
    await banks.finish().catch((cause: unknown) => this.#warn(`Banks of facts were not renewed: ${cause}`));
    db.close();
  }

  #write<T>(work: () => T, entitiesOf: (value: T) => readonly Entity[]): Promise<T> {
    return this.#parts.db.write(work, (value) => {
      for (const entity of entitiesOf(value)) this.#parts.directory.adopt(entity);
    });
  }

  async #renew(): Promise<void> {
    try {
      await renewVectors(this.#parts, () => this.#isClosing);
    } catch (cause) {
      this.#warn(
        `Vectors of ${this.#settings.dbPath} could not be renewed; facts without one are found by search only: ${cause}`,
      );
    }
  }
}

// ---- Checking a text before it becomes a fact ----
// Not empty, not too long, and no instructions or secrets, because facts become part of the prompt.

const MAX_CONTENT_CHARS = 2000;

const MAX_LABEL_CHARS = { category: 64, tags: 500 } as const;

/** Config `memory.allow_secrets`. */
type FactRules = { readonly allowSecrets: boolean };

/** Category and tags become part of a tool's answer. */
function checkLabels(
  labels: { readonly category?: string; readonly tags?: string },
  rules: FactRules,
): Result<void, string> {
  for (const name of ["category", "tags"] as const) {
    const text = labels[name] ?? "";
    if (codePointLength(text) > MAX_LABEL_CHARS[name])
      return err(`${name} may have ${MAX_LABEL_CHARS[name]} characters`);
    const [id] = [...threatIds(text, rules), ...findingIds(secondGate(text, rules))];
    if (id !== undefined) return err(`${name} was not stored: it matches ${id}.`);
  }
  return ok(undefined);
}

/** The text to store. */
function checkContent(text: string, rules: FactRules): Result<string, string> {
  const content = pyStrip(text.toWellFormed());
  if (content === "") return err("content must not be empty");
  const length = codePointLength(content);
  if (length > MAX_CONTENT_CHARS) {
    return err(
      `content has ${length} characters; a fact may have ${MAX_CONTENT_CHARS}. Split it into single facts.`,
    );
  }
  const ids = threatIds(content, rules);
  if (ids.length > 0) {
    return err(
      `content was not stored: it matches ${ids.join(", ")}. Facts become part of the prompt, so they may not carry instructions or secrets' paths. If it is harmless, reword it.`,
    );
  }
  const found = secondGate(content, rules);
  return found.length > 0 ? err(gateMessage(found)) : ok(content);
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

/** Stops between two steps when `isStopped`; the next start continues. */
async function renewVectors(parts: StoreParts, isStopped: () => boolean): Promise<void> {
  const { db, encoder, banks } = parts;
  const values = { bytes: encoder.dim * 8 };
  const isDue = `SELECT 1 FROM facts WHERE ${outdated(parts)} LIMIT 1`;
  if ((await db.read(() => db.get(isDue, values))) === undefined) return;
  const renewSome = (after: number): number | undefined => {
    const rows = db.all<{ id: number; content: string; category: string }>(
      `SELECT fact_id AS id, content, category FROM facts
       WHERE fact_id > :after AND ${outdated(parts)} ORDER BY fact_id LIMIT ${FACTS_PER_STEP}`,
      { after, ...values },
    );
    for (const { id, content } of rows) {
      const vector = vectorBytes(encoder.fact(content, linkedNames(db, id)));
      db.run("UPDATE facts SET hrr_vector = :vector WHERE fact_id = :id", { vector, id });
    }
    for (const category of new Set(rows.map((row) => row.category))) banks.renew(category);
    return rows.at(-1)?.id;
  };
  for (let after: number | undefined = 0; after !== undefined && !isStopped(); ) {
    const last: number = after;
    after = await db.write(() => renewSome(last));
  }
}

/** By the rules of the Python original, a fact without a vector keeps none. */
function outdated({ scoring }: StoreParts): string {
  return `length(hrr_vector) ${scoring === "reference" ? "<>" : "IS NOT"} :bytes`;
}
