// Search times at real sizes, by kind of query: for messages directly and for conversations through the tool, beside the times of the
// Python original. Then the same in a session of thousands of messages.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { readBaseline } from "./search/baseline.ts";
import { checkCompleteness } from "./search/completeness.ts";
import { openDatabase } from "./search/database.ts";
import { longSessionSize, measureLongSession } from "./search/long-session.ts";
import { measureDiscover, measureNewest, measureSearch, warmUp } from "./search/measure.ts";
import { type Queries, readQueries } from "./search/query-file.ts";
import { report } from "./search/report.ts";
import { progress } from "./store/progress.ts";

export async function run(
  flags: Readonly<Record<string, string>>,
  lists: Readonly<Record<string, readonly string[]>>,
): Promise<Record<string, unknown>> {
  const given = flags.queries === undefined ? undefined : readQueries(flags.queries);
  const baseline = flags.baseline === undefined ? undefined : readBaseline(flags.baseline);
  const longSession = longSessionSize(flags);
  using database = await openDatabase(flags, lists.corpus);
  progress("choosing queries");
  const queries = given ?? derivedQueries(database.path);
  await using store = await openSessionStore({ path: database.path });
  const messages = await store.messageCount();
  await warmUp(store, queries);
  const search = await measureSearch(store, queries);
  const discover = await measureDiscover(store, queries);
  const newest = await measureNewest(store, queries);
  const completeness = await checkCompleteness(store, database.path, queries);
  return report({
    ...{ corpus: database.corpus, messages, baseline, search, discover, newest, completeness },
    longSession: await measureLongSession(store, longSession),
  });
}

function derivedQueries(path: string): Queries {
  const script = join(import.meta.dirname, "search/derive.ts");
  const printed = execFileSync(process.execPath, [script, path], { encoding: "utf8", maxBuffer: 2 ** 26 });
  return JSON.parse(printed) as Queries;
}
