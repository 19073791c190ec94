// Questions for the filled store, made from its facts, so that each has an answer.
import { pick, randomNumbers } from "../../packages/core/test/fakes/random.ts";
import type { FactHome } from "./fact-home.ts";
import type { GeneratedFact } from "./generate.ts";

/** Returns the number of rows found. */
export type Query = (store: FactHome) => Promise<number>;

/** A rare word occurs in at most this many facts. */
const RARE_FACTS = 3;
const COMMON_WORDS = 20;
const CATEGORIES = [undefined, "user_pref", "project", "tool", "general"] as const;

export function drawQueries(
  facts: readonly GeneratedFact[],
  count: number,
  seed: number,
): Readonly<Record<string, readonly Query[]>> {
  const random = randomNumbers(seed);
  const counts = wordCounts(facts);
  const rare = [...counts].filter(([, n]) => n <= RARE_FACTS).map(([word]) => word);
  const common = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, COMMON_WORDS)
    .map(([word]) => word);
  const named = facts.filter(({ names }) => names.length > 0);
  const namedTwice = facts.filter(({ names }) => names.length > 1);
  const name = () => pick(pick(named, random).names, random);
  const sentence = () => {
    const fact = pick(named, random);
    return pick(QUESTIONS, random)(fact.names[0] ?? "", fact.topic);
  };
  const rows = (action: string, args: Readonly<Record<string, unknown>>) => async (store: FactHome) =>
    (await store.rows(action, args)).length;
  const times = (make: (i: number) => Query) => Array.from({ length: count }, (_, i) => make(i));
  const category = (i: number) => ({ category: CATEGORIES[i % CATEGORIES.length] });
  return {
    search_rare: times(() => rows("search", { query: pick(rare, random) })),
    search_common: times(() => rows("search", { query: pick(common, random) })),
    search_sentence: times(() => rows("search", { query: sentence() })),
    before_a_turn: times(() => {
      const query = sentence();
      return async (store) => (await store.recall(query)).split("\n").length - 1;
    }),
    probe: times(() => rows("probe", { entity: name() })),
    probe_category: times(() => {
      const { names, category } = pick(named, random);
      return rows("probe", { entity: names[0], category });
    }),
    related: times(() => rows("related", { entity: name() })),
    reason: times(() => rows("reason", { entities: pick(namedTwice, random).names })),
    contradict: times((i) => rows("contradict", category(i))),
    list: times((i) => rows("list", category(i))),
  };
}

const QUESTIONS: readonly ((name: string, topic: string) => string)[] = [
  (name, topic) => `What did ${name} decide about ${topic}, and why?`,
  (name, topic) => `Who else besides ${name} is working on the ${topic} at the moment?`,
  (name, topic) => `Could you remind me how ${topic} is done for ${name}?`,
  (name, topic) => `I'm meeting ${name} tomorrow. What should I know about their ${topic}?`,
];

/** The number of facts with each word. */
function wordCounts(facts: readonly GeneratedFact[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { content } of facts)
    for (const word of new Set(content.toLowerCase().match(/[a-z]{3,}/g) ?? []))
      counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
