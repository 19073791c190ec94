// `npm run -s bench -- <name> [--flag value]`: runs one benchmark and prints its figures as one JSON line, last.
type Benchmark = { run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> };

const BENCHMARKS: Readonly<Record<string, () => Promise<Benchmark>>> = {
  curated: () => import("./curated.ts"),
  scanner: () => import("./scanner.ts"),
  startup: () => import("./startup.ts"),
};

const [name = "", ...rest] = process.argv.slice(2);
const benchmark = BENCHMARKS[name];
if (!benchmark) {
  console.error(`Unknown benchmark '${name}'. There are: ${Object.keys(BENCHMARKS).join(", ")}.`);
  process.exit(2);
}
const figures = await (await benchmark()).run(parseFlags(rest));
console.log(JSON.stringify(figures));

function parseFlags(words: readonly string[]): Record<string, string> {
  const flags: Record<string, string> = {};
  for (let i = 0; i < words.length; i += 1) {
    const [key = "", inline] = (words[i] as string).replace(/^--/, "").split("=", 2);
    const next = words[i + 1];
    if (inline !== undefined) flags[key] = inline;
    else if (next !== undefined && !next.startsWith("--")) {
      flags[key] = next;
      i += 1;
    } else flags[key] = "true";
  }
  return flags;
}
