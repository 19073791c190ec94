// Vectors that do not fit any more: of another length after `hrr_dim` was changed, or missing because a program without
// vectors wrote the fact. They are made anew in small steps, so that everything else goes on meanwhile.
import type { FactTools } from "./facts.ts";
import { linkedNames } from "./links.ts";
import { vectorBytes } from "./rows.ts";
import type { VectorIndex } from "./vector-index.ts";

/** One transaction: about 20 ms. */
const FACTS_PER_STEP = 32;

type Row = {
  readonly id: number;
  readonly content: string;
  readonly category: string;
  readonly trust: number;
  readonly updatedAt: string;
};

/** Stops between two steps when asked to; the next start goes on with what is left. */
export async function renewVectors(
  tools: FactTools,
  index: VectorIndex,
  isStopped: () => boolean,
): Promise<void> {
  if (!(await tools.db.read(() => isAnythingUnfit(tools)))) return;
  const learn = (step: Step) => {
    for (const { row, vector } of step) index.put(row, vector, row.content);
  };
  for (let after = 0; !isStopped(); ) {
    const step = await tools.db.write(() => renewSome(tools, after), learn);
    const last = step.at(-1);
    if (last === undefined) break;
    after = last.row.id;
  }
  await renewBanks(tools, isStopped);
}

async function renewBanks({ db, encoder, banks }: FactTools, isStopped: () => boolean): Promise<void> {
  const categories = await db.read(() =>
    db.all<{ category: string }>("SELECT DISTINCT category FROM facts WHERE category IS NOT NULL"),
  );
  for (const { category } of categories) {
    if (isStopped()) return; // the banks that are left have their old length, which tells the next start
    await db.write(() => banks.rebuild(category));
  }
  await db.write(() => db.run("DELETE FROM memory_banks WHERE dim <> :dim", { dim: encoder.dim }));
}

function isAnythingUnfit(tools: FactTools): boolean {
  const { db, encoder } = tools;
  const bank = db.get("SELECT 1 FROM memory_banks WHERE dim <> :dim", { dim: encoder.dim });
  return (
    bank !== undefined || db.get(`SELECT 1 FROM facts WHERE ${unfit(tools)}`, bytes(tools)) !== undefined
  );
}

type Step = readonly { readonly row: Row; readonly vector: Float64Array }[];

function renewSome(tools: FactTools, after: number): Step {
  const { db, encoder } = tools;
  const sql = `
    SELECT fact_id AS id, content, category, trust_score AS trust, updated_at AS updatedAt FROM facts
    WHERE fact_id > :after AND ${unfit(tools)} ORDER BY fact_id LIMIT ${FACTS_PER_STEP}
  `;
  return db.all<Row>(sql, { after, ...bytes(tools) }).map((row) => {
    const vector = encoder.fact(row.content, linkedNames(db, row.id));
    db.run("UPDATE facts SET hrr_vector = :vector WHERE fact_id = :id", {
      vector: vectorBytes(vector),
      id: row.id,
    });
    return { row, vector };
  });
}

/** By the original's rules a fact without a vector stays one. */
function unfit({ scoring }: FactTools): string {
  return `length(hrr_vector) ${scoring === "reference" ? "<>" : "IS NOT"} :bytes`;
}

function bytes({ encoder }: FactTools): { bytes: number } {
  return { bytes: encoder.dim * 8 };
}
