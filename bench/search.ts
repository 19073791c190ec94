// Search times at real sizes, by kind of query: for messages directly and for conversations through the tool, beside the times of the
// Python original. Then the same in a session of thousands of messages.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { type NewMessage, openSessionStore } from "@hermes-memory/core/internal/sessions";
import { checkCompleteness } from "./search/completeness.ts";
import { longSessionSize, measureLongSession } from "./search/long-session.ts";
import { measureDiscover, measureNewest, measureSearch, warmUp } from "./search/measure.ts";
import type { Queries } from "./search/queries.ts";
import { report } from "./search/report.ts";
import { progress } from "./statistics.ts";
import { chooseCorpus } from "./store/corpus.ts";
import { intakeFrom, load } from "./store/phases.ts";
import { storeTarget } from "./store.ts";

export async function run(
  flags: Readonly<Record<string, string>>,
  lists: Readonly<Record<string, readonly string[]>>,
): Promise<Record<string, unknown>> {
  const longSession = longSessionSize(flags);
  using database = await openDatabase(flags, lists.corpus);
  progress("choosing queries");
  const queries = derivedQueries(database.path);
  await using store = await openSessionStore({ path: database.path });
  const messages = await store.messageCount();
  await warmUp(store, queries);
  const search = await measureSearch(store, queries);
  const discover = await measureDiscover(store, queries);
  const newest = await measureNewest(store, queries);
  const completeness = await checkCompleteness(store, database.path, queries);
  return report({
    ...{ corpus: database.corpus, messages, search, discover, newest, completeness },
    longSession: await measureLongSession(store, longSession),
  });
}

function derivedQueries(path: string): Queries {
  const script = join(import.meta.dirname, "search/derive.ts");
  const printed = execFileSync(process.execPath, [script, path], { encoding: "utf8", maxBuffer: 2 ** 26 });
  return JSON.parse(printed) as Queries;
}

// The database to search: an existing one, or one filled with the corpus.

/** Disposing deletes a temporary database; one named by `--db` is kept. */
type Database = Disposable & { readonly path: string; readonly corpus: string };

async function openDatabase(
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
