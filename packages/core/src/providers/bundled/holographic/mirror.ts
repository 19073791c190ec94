// Facts that copy entries of the built-in memory. A table of ours remembers which ones they are, so that a replaced or
// removed entry is found again by the piece of text the memory tool was given.
import type { FactDatabase } from "./database.ts";
import { addFact, type FactNews, type FactTools, removeFact, updateFact } from "./facts.ts";

export type MirrorTarget = "memory" | "user";

export type MirrorWrite = {
  readonly target: MirrorTarget;
  /** Checked and trimmed; undefined when the entry is gone. */
  readonly content: string | undefined;
  /** What the entry was found by; undefined when it is new. */
  readonly oldText: string | undefined;
  readonly trust: number;
};

function mirrorCategory(target: MirrorTarget): string {
  return target === "user" ? "user_pref" : "general";
}

/** The inside of one transaction. */
export function applyMirror(tools: FactTools, write: MirrorWrite): FactNews[] {
  const old = write.oldText === undefined ? undefined : findMirrored(tools.db, write.target, write.oldText);
  if (write.content === undefined) return old === undefined ? [] : [removeFact(tools, old)].flatMap(present);
  if (old === undefined) return [addMirrored(tools, write, write.content)];
  const updated = updateFact(tools, old, { content: write.content });
  if (updated.kind === "updated") {
    remember(tools.db, old, write.target);
    return [updated.news];
  }
  // The new text is a fact already: that one stays, the old one goes.
  return [addMirrored(tools, write, write.content), ...[removeFact(tools, old)].flatMap(present)];
}

function addMirrored(tools: FactTools, { target, trust }: MirrorWrite, content: string): FactNews {
  const fact = { content, category: mirrorCategory(target), tags: "", trust };
  const { factId, isNew, news } = addFact(tools, fact);
  if (isNew) remember(tools.db, factId, target); // a fact that was there already is somebody else's
  return news;
}

/** The mirrored fact that says exactly this, or the only one that contains it. Facts that are no mirror are left alone. */
function findMirrored(db: FactDatabase, target: MirrorTarget, oldText: string): number | undefined {
  const sql = `
    SELECT f.fact_id AS id, f.content = :oldText AS isExact
    FROM hermes_memory_mirrored m JOIN facts f ON f.fact_id = m.fact_id
    WHERE m.target = :target AND instr(f.content, :oldText) > 0 ORDER BY isExact DESC, f.fact_id LIMIT 2
  `;
  const [first, second] = db.all<{ id: number; isExact: number }>(sql, { target, oldText });
  return first && (first.isExact === 1 || second === undefined) ? first.id : undefined;
}

function remember(db: FactDatabase, factId: number, target: MirrorTarget): void {
  const sql = `
    INSERT INTO hermes_memory_mirrored (fact_id, target) VALUES (:factId, :target)
    ON CONFLICT(fact_id) DO UPDATE SET target = excluded.target
  `;
  db.run(sql, { factId, target });
}

/** From here on the fact is the user's own: it was added or changed through the tool, and no write of an entry takes it away. */
export function claimFact(db: FactDatabase, factId: number): void {
  db.run("DELETE FROM hermes_memory_mirrored WHERE fact_id = :factId", { factId });
}

function present<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
