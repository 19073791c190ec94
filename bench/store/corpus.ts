// The messages of a run: generated ones, or those of the given files.
import { basename } from "node:path";
import { HermesError } from "@hermes-memory/core/internal/lib";
import { type CorpusMessage, generateCorpus, readCorpus } from "../corpus/index.ts";
import { progress } from "../statistics.ts";

export type Corpus = {
  readonly name: string;
  /** The number of messages that `messages` yields. */
  readonly size: number;
  /** Every call starts at the beginning. */
  messages(): Iterable<CorpusMessage> | AsyncIterable<CorpusMessage>;
};

export async function chooseCorpus(
  flags: Readonly<Record<string, string>>,
  files: readonly string[] | undefined,
): Promise<Corpus> {
  // By default all of a given corpus; of the generated one, which is endless, as many as the reference figures are for.
  const wanted = flags.messages === undefined ? undefined : wholeNumber("messages", flags.messages);
  if (files === undefined) {
    const size = wanted ?? 100_000;
    const seed = wholeNumber("seed", flags.seed ?? "1");
    return { name: `seed ${seed}`, size, messages: () => generateCorpus({ messages: size, seed }) };
  }
  if (files.length === 0) throw new HermesError("usage", "--corpus needs at least one file.");
  progress("reading the corpus");
  let size = 0;
  for await (const _ of readCorpus(files)) {
    size += 1;
    if (size === wanted) break;
  }
  if (size === 0) throw new HermesError("usage", `There is no message in ${files.join(", ")}.`);
  return { name: files.map((file) => basename(file)).join(", "), size, messages: () => readCorpus(files) };
}

/** Exactly `size` messages, even if the files have more. */
export async function* messagesOf(corpus: Corpus): AsyncGenerator<CorpusMessage> {
  let left = corpus.size;
  for await (const message of corpus.messages()) {
    yield message;
    left -= 1;
    if (left === 0) return;
  }
}

function wholeNumber(flag: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new HermesError("usage", `--${flag} takes a whole number above 0, not '${text}'.`);
}
