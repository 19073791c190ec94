// `npm run -s bench -- <name> [--flag value...]`: runs one benchmark and prints its figures as one JSON line, last.
import { HermesError } from "@hermes-memory/core/internal/lib";

/** For a flag that is given several times, `flags` has the last value and `lists` all of them. `words` precede the first flag. */
type Benchmark = {
  run(
    flags: Readonly<Record<string, string>>,
    lists: Readonly<Record<string, readonly string[]>>,
    words: readonly string[],
  ): Promise<Record<string, unknown>>;
};

const BENCHMARKS: Readonly<Record<string, () => Promise<Benchmark>>> = {
  context: () => import("./context.ts"),
  curated: () => import("./curated.ts"),
  damage: () => import("./damage.ts"),
  gateway: () => import("./gateway.ts"),
  holographic: () => import("./holographic.ts"),
  hostile: () => import("./hostile.ts"),
  import: () => import("./import.ts"),
  recall: () => import("./recall.ts"),
  scanner: () => import("./scanner.ts"),
  scrubber: () => import("./scrubber.ts"),
  search: () => import("./search.ts"),
  startup: () => import("./startup.ts"),
  store: () => import("./store.ts"),
};

const [name = "", ...rest] = process.argv.slice(2);
const benchmark = BENCHMARKS[name];
if (!benchmark) {
  console.error(`Unknown benchmark '${name}'. There are: ${Object.keys(BENCHMARKS).join(", ")}.`);
  process.exit(2);
}
const { words, lists } = parseWords(rest);
const flags = Object.fromEntries(
  Object.entries(lists).map(([key, values]) => [key, values.at(-1) ?? "true"]),
);
try {
  console.log(JSON.stringify(await (await benchmark()).run(flags, lists, words)));
} catch (error) {
  if (!(error instanceof HermesError)) throw error;
  console.error([error.message, error.hint].filter(Boolean).join(" "));
  process.exitCode = 1;
}

function parseWords(given: readonly string[]): { words: string[]; lists: Record<string, string[]> } {
  const found: Record<string, string[]> = {};
  const before: string[] = [];
  let values = before;
  for (const word of given) {
    if (word.startsWith("--")) {
      const [key = "", inline] = word.slice(2).split("=", 2);
      values = found[key] ??= [];
      if (inline !== undefined) values.push(inline);
    } else values.push(word);
  }
  return { words: before, lists: found };
}
