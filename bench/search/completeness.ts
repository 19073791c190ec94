// Compares the timed searches with a scan of every message, in the same run: they must be complete.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import { progress } from "../statistics.ts";
import type { Expected } from "./expect.ts";
import type { Queries } from "./queries.ts";

export type Completeness = {
  readonly queries: number;
  /** Searches compared: by time in both directions, and the number of conversations found. */
  readonly compared: number;
  /** The first few that differ; a complete search has none. */
  readonly wrong: readonly string[];
};

/** The search adds word forms to questions, so there is no exact result to compare with. */
const WITHOUT_EXACT_ANSWER = ["question"];
const CONVERSATIONS = 10;
const SHOWN = 5;

export async function checkCompleteness(
  store: SessionStore,
  path: string,
  queries: Queries,
): Promise<Completeness> {
  const exact = Object.entries(queries)
    .filter(([kind]) => !WITHOUT_EXACT_ANSWER.includes(kind))
    .flatMap(([, list]) => list.map(asExplicit));
  const script = join(import.meta.dirname, "expect.ts");
  const input = JSON.stringify([...new Set(exact)]);
  const printed = execFileSync(process.execPath, [script, path], {
    ...{ input, encoding: "utf8", maxBuffer: 2 ** 28 },
  });
  const expected = JSON.parse(printed) as Expected[];
  const wrong: string[] = [];
  let compared = 0;
  for (const { query, newest, oldest, sessions } of expected) {
    for (const [sort, wanted] of [["newest", newest] as const, ["oldest", oldest] as const]) {
      const found = await store.searchMessages(query, { sort, limit: wanted.length });
      compared += 1;
      if (found.map(({ id }) => id).join() !== wanted.join()) wrong.push(`${query} by ${sort}`);
    }
    const { hits } = await store.search(query, { perLineage: true, limit: CONVERSATIONS });
    compared += 1;
    if (hits.length !== Math.min(sessions, CONVERSATIONS))
      wrong.push(`${query}: ${hits.length} of ${sessions} conversations`);
  }
  progress(`completeness: ${compared} searches compared, ${wrong.length} wrong`);
  return { queries: expected.length, compared, wrong: wrong.slice(0, SHOWN) };
}

/** A plain query also matches other forms of its words; a quoted one does not. */
function asExplicit(query: string): string {
  return /["*]| OR /.test(query) ? query : `"${query}"`;
}
