// Speed of the streaming scrubber by kind of text and chunk size, compared with a loop that only joins the chunks, and the cost of a
// character late in a long stream compared with a short stream.
import { StreamingContextScrubber } from "../packages/core/src/providers/fence/recall-fence.ts";
import { median, round } from "./statistics.ts";

const MEGABYTE = 1_000_000;
const CHUNK_SIZES = [4, 64, 1024] as const;
const LONG_STREAM = 64; // megabytes; the short one has one

const WARM_UP = 2; // runs that are not counted

/** The target for plain text, in megabytes per second. */
const LEAST_RATE = { 4: 15, 64: 100 } as const;
/** The limit for a constant cost per character, with room for noise. A cost that grows with the stream would give a ratio in the tens. */
const MOST_GROWTH = 1.5;

type Text = { readonly unit: string; readonly opening?: string };

/** All except the hidden ones are shown unchanged. ASCII, so a character is a byte. */
const TEXTS: Readonly<Record<string, Text>> = {
  prose: {
    unit:
      "The crane at the harbour was painted blue last spring; the crew keeps its log in the office upstairs.\n" +
      "Most deliveries arrive before nine. On Fridays the kiln is fired, so nobody plans a tour for then.\n\n",
  },
  angle_brackets: { unit: "if (a < b && c <d) { x <<= 2; return <b>y</b>; } <- <>\n" },
  only_angle_brackets: { unit: "<" },
  partial_tags: { unit: "\n<memory-contex <memory-</memory-context <m" },
  tags_in_prose: { unit: "the <memory-context> tag, \n<memory-context> again\n" },
  blanks: { unit: "  \t " },
  hidden_prose: { opening: "<memory-context>\n", unit: "The kiln is fired on Fridays, at nine.\n" },
  hidden_partial_tags: { opening: "<memory-context>\n", unit: "</memory-contex" },
};

type Row = Record<string, number>;

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const rounds = Number(flags.rounds ?? 25);
  const rates: Record<string, Row> = {};
  const floors: Record<string, Row> = {};
  const growth: Record<string, Row> = {};
  for (const [name, text] of Object.entries(TEXTS)) {
    const [rate, floor, grown]: [Row, Row, Row] = [{}, {}, {}];
    for (const size of CHUNK_SIZES) {
      const chunks = chunksOf(text.unit, size);
      checkShown(text, chunks);
      const times = inTurns(rounds, {
        scrubbed: () => joined(chunks, scrubberOf(text)),
        bare: () => joined(chunks, { feed: (chunk) => chunk }),
      });
      rate[size] = round(1000 / median(times.scrubbed), 1);
      floor[size] = round(1000 / median(times.bare), 1);
      grown[size] = longToShort(text, chunks);
    }
    [rates[name], floors[name], growth[name]] = [rate, floor, grown];
  }
  const mostGrowth = Math.max(...Object.values(growth).flatMap((row) => Object.values(row)));
  return {
    bench: "scrubber",
    megabytes_per_second: rates,
    floor_megabytes_per_second: floors,
    long_to_short_cost: growth,
    most_long_to_short_cost: mostGrowth,
    meets: {
      chunks_of_4: (rates.prose?.[4] ?? 0) >= LEAST_RATE[4],
      chunks_of_64: (rates.prose?.[64] ?? 0) >= LEAST_RATE[64],
      cost_independent_of_length: mostGrowth <= MOST_GROWTH,
    },
  };
}

type Feeder = { feed(chunk: string): string };

function joined(chunks: readonly string[], feeder: Feeder): number {
  let shown = "";
  for (const chunk of chunks) shown += feeder.feed(chunk);
  return shown.length;
}

/**
 * The cost of a megabyte in the second half of a long stream, divided by the cost of a stream of one megabyte. The two alternate,
 * and the fastest run of each counts, because other work on the machine can only add time. The output is not joined: that memory
 * would be the only thing that grows.
 */
function longToShort(text: Text, chunks: readonly string[]): number {
  const longLived = scrubberOf(text);
  for (let i = 0; i < LONG_STREAM / 2; i += 1) fed(chunks, longLived);
  const times = inTurns(LONG_STREAM / 2 - WARM_UP, {
    long: () => fed(chunks, longLived),
    short: () => fed(chunks, scrubberOf(text)),
  });
  return round(Math.min(...times.long) / Math.min(...times.short));
}

function fed(chunks: readonly string[], feeder: Feeder): number {
  let length = 0;
  for (const chunk of chunks) length += feeder.feed(chunk).length;
  return length;
}

/** Milliseconds of every run. The two alternate, so that a slow moment of the machine affects both. */
function inTurns<Name extends string>(
  rounds: number,
  runs: Readonly<Record<Name, () => number>>,
): Record<Name, number[]> {
  const names = Object.keys(runs) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let i = 0; i < rounds + WARM_UP; i += 1)
    for (const name of names) {
      const startedAt = performance.now();
      runs[name]();
      if (i >= WARM_UP) times[name].push(performance.now() - startedAt);
    }
  return times;
}

function scrubberOf({ opening }: Text): StreamingContextScrubber {
  const scrubber = new StreamingContextScrubber();
  if (opening !== undefined) scrubber.feed(opening);
  return scrubber;
}

/** A megabyte in chunks. Each is a separate string, like one read from a socket, not a slice of the whole text. */
function chunksOf(unit: string, size: number): string[] {
  const text = Buffer.from(unit.repeat(Math.ceil(MEGABYTE / unit.length)).slice(0, MEGABYTE), "latin1");
  const count = Math.ceil(MEGABYTE / size);
  return Array.from({ length: count }, (_, i) => text.toString("latin1", i * size, (i + 1) * size));
}

function checkShown(text: Text, chunks: readonly string[]): void {
  const scrubber = scrubberOf(text);
  const shown = joined(chunks, scrubber) + scrubber.flush().length;
  const expected = text.opening === undefined ? MEGABYTE : 0;
  if (shown !== expected) throw new Error(`${shown} of ${MEGABYTE} characters shown instead of ${expected}.`);
}
