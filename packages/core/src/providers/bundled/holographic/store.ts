// The fact store: every operation, with what is kept in memory following each commit.
import { type Clock, err, ok, type Result } from "../../../lib/index.ts";
import { Banks } from "./banks.ts";
import { checkContent, checkLabels, type FactRefusal, type FactRules } from "./content-check.ts";
import { type Contradiction, findContradictions } from "./contradict.ts";
import { FactDatabase } from "./database.ts";
import { EntityDirectory } from "./directory.ts";
import { Encoder } from "./encoder.ts";
import { referenceMentions } from "./entities.ts";
import {
  addFact,
  type FactChange,
  type FactNews,
  type FactTools,
  type Rated,
  rateFact,
  removeFact,
  updateFact,
} from "./facts.ts";
import { countFactsWith, eraseFacts, findDeletedText, scrubFile } from "./forget.ts";
import { improvedMentions } from "./improved-entities.ts";
import { applyMirror, claimFact, type MirrorTarget } from "./mirror.ts";
import type { VectorRequest } from "./plan.ts";
import type { VectorHit } from "./ranking.ts";
import { FACT_COLUMNS, type FactRow, toFactRow } from "./rows.ts";
import { type SearchHit, type SearchRequest, searchFacts } from "./search.ts";
import type { HolographicSettings } from "./settings.ts";
import { renewVectors } from "./upkeep.ts";
import { VectorIndex } from "./vector-index.ts";
import { queryVectors } from "./vector-queries.ts";

export type StoreOptions = {
  readonly clock: Clock;
  readonly warn: (message: string) => void;
  /** Config `memory.allow_secrets`; default false. */
  readonly allowSecrets?: boolean;
};

export type ListRequest = {
  readonly category: string | undefined;
  readonly minTrust: number;
  readonly limit: number;
};

export class FactStore {
  readonly #settings: HolographicSettings;
  readonly #tools: FactTools;
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
    this.#tools = {
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
        const outcome = addFact(this.#tools, fact);
        claimFact(this.#tools.db, outcome.factId);
        return outcome;
      },
      ({ news }) => [news],
    );
    return ok({ factId: added.factId, isNew: added.isNew });
  }

  /** False: there is no such fact. */
  async update(factId: number, change: FactChange): Promise<Result<boolean, FactRefusal>> {
    const content = change.content === undefined ? undefined : checkContent(change.content, this.#rules);
    if (content?.ok === false) return content;
    const labels = checkLabels(change, this.#rules);
    if (!labels.ok) return labels;
    // A trust that went up or down is a rating, and says nothing about whose fact it is.
    const isRewritten = [change.content, change.tags, change.category].some((each) => each !== undefined);
    const updated = await this.#write(
      () => {
        const outcome = updateFact(this.#tools, factId, { ...change, content: content?.value });
        if (outcome.kind === "updated" && isRewritten) claimFact(this.#tools.db, factId);
        return outcome;
      },
      (outcome) => (outcome.kind === "updated" ? [outcome.news] : []),
    );
    if (updated.kind !== "duplicate") return ok(updated.kind === "updated");
    const message = `fact ${updated.id} has this content already (UNIQUE constraint failed: facts.content). Change or remove that one.`;
    return err({ kind: "duplicate", message });
  }

  async remove(factId: number): Promise<boolean> {
    const news = await this.#write(
      () => removeFact(this.#tools, factId),
      (outcome) => (outcome === undefined ? [] : [outcome]),
    );
    return news !== undefined;
  }

  async rate(factId: number, isHelpful: boolean): Promise<Rated | undefined> {
    return this.#write(
      () => rateFact(this.#tools, factId, isHelpful),
      (outcome) => (outcome === undefined ? [] : [outcome.news]),
    );
  }

  async list({ category, minTrust, limit }: ListRequest): Promise<FactRow[]> {
    const { db } = this.#tools;
    const inCategory = category === undefined ? "" : "AND f.category = :category";
    const sql = `
      SELECT ${FACT_COLUMNS} FROM facts f WHERE f.trust_score >= :minTrust ${inCategory}
      ORDER BY f.trust_score DESC, f.fact_id LIMIT :limit
    `;
    const values = { minTrust, limit, ...(category === undefined ? {} : { category }) };
    return db.read(() => db.all<FactRow>(sql, values).map(toFactRow));
  }

  async count(): Promise<number> {
    const { db } = this.#tools;
    return db.read(() => db.get<{ n: number }>("SELECT count(*) AS n FROM facts")?.n ?? 0);
  }

  async search(request: SearchRequest): Promise<SearchHit[]> {
    return this.#tools.db.read(() => searchFacts(this.#tools, this.#settings, request, this.#clock.now()));
  }

  /** Counts that these facts were found. Left undone while another process writes: a count is not worth waiting for. */
  countRetrieval(facts: readonly FactRow[]): void {
    if (facts.length === 0) return;
    const { db } = this.#tools;
    const ids = JSON.stringify(facts.map(({ fact_id }) => fact_id));
    const sql = `
      UPDATE facts SET retrieval_count = retrieval_count + 1
      WHERE fact_id IN (SELECT value FROM json_each(:ids))
    `;
    db.tryWrite(() => void db.run(sql, { ids }));
  }

  async query(request: VectorRequest): Promise<(VectorHit | SearchHit)[]> {
    await this.#upkeep;
    const hits = await queryVectors(this.#tools, this.#index, request);
    if (hits !== undefined) return hits;
    const query = request.kind === "reason" ? request.entities.join(" ") : request.entity;
    const { category, limit } = request;
    const { minTrust, querySyntax } = this.#settings;
    return this.search({ query, category, limit, minTrust, isSafe: querySyntax === "safe" });
  }

  async contradictions(category: string | undefined, limit: number): Promise<Contradiction[]> {
    await this.#upkeep;
    return this.#tools.db.read(() => findContradictions(this.#tools, category, limit));
  }

  /** Follows a write of the built-in memory. */
  async mirror(
    target: MirrorTarget,
    texts: { readonly content: string | undefined; readonly oldText: string | undefined },
  ): Promise<Result<void, FactRefusal>> {
    const content = texts.content === undefined ? undefined : checkContent(texts.content, this.#rules);
    const isRefused = content?.ok === false;
    if (isRefused && texts.oldText === undefined) return content;
    const trust = this.#settings.defaultTrust;
    // A new text that cannot be a fact still means that the old one no longer holds.
    const kept = content?.ok ? content.value : undefined;
    const write = { target, content: kept, oldText: texts.oldText, trust };
    await this.#write(
      () => applyMirror(this.#tools, write),
      (news) => news,
    );
    return isRefused ? content : ok(undefined);
  }

  /** How many facts hold the text. `remaining`: none does, but the file has it in deleted records. */
  async traces(text: string): Promise<{ readonly erased: number; readonly remaining: string | undefined }> {
    const { db } = this.#tools;
    const erased = await db.read(() => countFactsWith(db, text));
    return { erased, remaining: erased > 0 ? undefined : await findDeletedText(db.path, text) };
  }

  /** Erases the facts that hold the text, and what deleted rows leave in the file. `remaining`: why something may be left there. */
  async forget(text: string): Promise<{ readonly erased: number; readonly remaining: string | undefined }> {
    await this.#upkeep;
    const { db, directory } = this.#tools;
    db.overwriteDeleted();
    const news = await this.#write(
      () => eraseFacts(this.#tools, text),
      (each) => each,
    );
    directory.forget();
    return { erased: news.length, remaining: await scrubFile(db) };
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#upkeep;
    this.#tools.db.close();
  }

  #write<T>(work: () => T, newsOf: (value: T) => readonly FactNews[]): Promise<T> {
    return this.#tools.db.write(work, (value) => {
      for (const news of newsOf(value)) this.#learn(news);
    });
  }

  #learn({ entities, put, dropped }: FactNews): void {
    for (const entity of entities) this.#tools.directory.adopt(entity);
    if (dropped !== undefined) this.#index.drop(dropped);
    if (put === undefined) return;
    if (put.vector === undefined) this.#index.touch(put.fact.id, put.fact);
    else this.#index.put(put.fact, put.vector, put.content);
  }

  async #renew(warn: (message: string) => void): Promise<void> {
    try {
      await renewVectors(this.#tools, this.#index, () => this.#isClosing);
    } catch (cause) {
      warn(
        `Vectors of ${this.#settings.dbPath} could not be renewed; facts without one are found by search only: ${cause}`,
      );
    }
  }
}
