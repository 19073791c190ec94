// The database to search: an existing one, or one filled with the corpus.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { NewMessage } from "@hermes-memory/core/internal/sessions";
import { chooseCorpus } from "../store/corpus.ts";
import { intakeFrom } from "../store/intake.ts";
import { load } from "../store/phases.ts";
import { storeTarget } from "../store/session-store.ts";

/** Disposing deletes a temporary database; one named by `--db` is kept. */
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
    const target = await storeTarget(path, []);
    await load(target, intakeFrom<NewMessage>(corpus), { count: corpus.size, label: "database" });
    if (kept === undefined) return { path, corpus: corpus.name, [Symbol.dispose]: remove };
    // Renamed last, so that the next run does not mistake a partial database for the whole corpus.
    renameSync(path, kept);
    remove();
    return { path: kept, corpus: corpus.name, [Symbol.dispose]: () => {} };
  } catch (cause) {
    remove();
    throw cause;
  }
}
