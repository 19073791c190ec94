// The database that is searched: one that exists, or one filled with the corpus.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { NewMessage } from "@hermes-memory/core/sessions";
import { inBatches } from "../store/batches.ts";
import { type Corpus, chooseCorpus } from "../store/corpus.ts";
import { intakeFrom } from "../store/intake.ts";
import { progress } from "../store/progress.ts";
import { storeTarget } from "../store/session-store.ts";

/** What was made in passing goes when it is disposed of; what `--db` names stays. */
export type Database = Disposable & { readonly path: string; readonly corpus: string };

export async function openDatabase(
  flags: Readonly<Record<string, string>>,
  files: readonly string[] | undefined,
): Promise<Database> {
  const kept = flags.db === undefined ? undefined : resolve(flags.db);
  if (kept !== undefined && existsSync(kept))
    return { path: kept, corpus: basename(kept), [Symbol.dispose]: () => {} };
  const corpus = await chooseCorpus(flags, files);
  if (kept !== undefined) mkdirSync(dirname(kept), { recursive: true });
  const root = mkdtempSync(join(kept === undefined ? tmpdir() : dirname(kept), "hermes-bench-"));
  const remove = () => rmSync(root, { recursive: true, force: true });
  try {
    const path = join(root, "state.db");
    await fill(path, corpus);
    if (kept === undefined) return { path, corpus: corpus.name, [Symbol.dispose]: remove };
    // Last, so that an interrupted run leaves nothing that the next one would take for the whole corpus.
    renameSync(path, kept);
    remove();
    return { path: kept, corpus: corpus.name, [Symbol.dispose]: () => {} };
  } catch (cause) {
    remove();
    throw cause;
  }
}

async function fill(path: string, corpus: Corpus): Promise<void> {
  const target = await storeTarget(path, []);
  const intake = intakeFrom<NewMessage>(corpus);
  for (let loaded = 0; loaded < corpus.size; ) {
    const step = Math.min(5_000, corpus.size - loaded);
    for (const [id, inputs] of await intake.take(target, step))
      for (const batch of inBatches(inputs)) await target.appendMany(id, batch);
    loaded += step;
    progress(`${loaded} of ${corpus.size} messages loaded`);
  }
  await target.close();
}
