// `npm run soak:scrubber [-- --cases N --seed N]`: compares random streams through the scrubber with the whole-text oracle, and as many
// random replies through the echo scrubber, in chunks and in one piece. Prints progress on stderr and one JSON object at the end. Exit
// code 1 when text leaked, was lost, or came too early or too late.
import { parseArgs } from "node:util";
import fc from "fast-check";
import { EchoScrubber } from "../packages/core/src/providers/fence/echo-scrubber.ts";
import { StreamingContextScrubber } from "../packages/core/src/providers/fence/recall-fence.ts";
import { echoStream, RECALL } from "../packages/core/test/providers/fence/echoes.ts";
import { shownSoFar, visibleText } from "../packages/core/test/providers/fence/oracle.ts";
import { type Stream, stream } from "../packages/core/test/providers/fence/streams.ts";

const { values } = parseArgs({ options: { cases: { type: "string" }, seed: { type: "string" } } });
const cases = Number(values.cases ?? 200_000);
const seed = Number(values.seed ?? Math.floor(Math.random() * 0x7fffffff));
if (!(Number.isSafeInteger(cases) && cases > 0 && Number.isSafeInteger(seed))) {
  console.error("--cases takes a number above 0, --seed a whole number.");
  process.exit(2);
}

const BATCH = 1_000;
const startedAt = performance.now();
const counts = { leaks: 0, losses: 0, mismatches: 0, echoes: 0 };
const seen = { chunks: 0, characters: 0, hidden: 0 };
console.error(`seed ${seed}`);
for (let done = 0; done < cases; ) {
  const numRuns = Math.min(BATCH, cases - done);
  for (const one of fc.sample(stream, { numRuns, seed: (seed + done) | 0 })) check(one);
  for (const one of fc.sample(echoStream, { numRuns, seed: (seed + done) | 0 })) checkEchoes(one);
  done += numRuns;
  if (done % 20_000 === 0 || done === cases) console.error(`${done} of ${cases}, ${JSON.stringify(counts)}`);
}
const seconds = Math.round((performance.now() - startedAt) / 1000);
console.log(JSON.stringify({ soak: "scrubber", seed, cases, ...counts, ...seen, seconds }));
process.exitCode = counts.leaks + counts.losses + counts.mismatches + counts.echoes > 0 ? 1 : 0;

function check({ text, chunks }: Stream): void {
  const scrubber = new StreamingContextScrubber();
  let fed = "";
  let shown = "";
  let isInStep = true;
  for (const chunk of chunks) {
    fed += chunk;
    shown += scrubber.feed(chunk);
    isInStep &&= shown === shownSoFar(fed);
  }
  shown += scrubber.flush();
  const expected = visibleText(text);
  seen.chunks += chunks.length;
  seen.characters += text.length;
  seen.hidden += text.length - expected.length;
  const found = {
    leaks: !isWithin(shown, expected),
    losses: !isWithin(expected, shown),
    mismatches: !isInStep || shown !== expected,
  };
  if (!found.mismatches) return;
  for (const kind of ["leaks", "losses", "mismatches"] as const) counts[kind] += found[kind] ? 1 : 0;
  console.error(`wrong: ${JSON.stringify({ chunks, shown, expected })}`);
}

/** The output must not depend on the chunks, and must contain nothing that is not in the reply. */
function checkEchoes({ text, chunks }: Stream): void {
  const [cut = "", whole = ""] = [chunks, [text]].map((parts) => {
    const scrubber = new EchoScrubber(RECALL);
    return parts.map((part) => scrubber.feed(part)).join("") + scrubber.end();
  });
  if (cut === whole && isWithin(whole, text)) return;
  counts.echoes += 1;
  console.error(`wrong: ${JSON.stringify({ chunks, cut, whole })}`);
}

/** Whether `part` is `whole` with some characters left out. */
function isWithin(part: string, whole: string): boolean {
  let matched = 0;
  for (let at = 0; at < whole.length && matched < part.length; at += 1)
    if (whole[at] === part[matched]) matched += 1;
  return matched === part.length;
}
