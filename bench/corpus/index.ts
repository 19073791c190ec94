// Agent conversations to fill a session store with: generated from a seed, or read from JSONL files.
export { generateCorpus } from "./generate.ts";
export { type CorpusMessage, contentText, readCorpus, sourceOf, textBytesOf } from "./message.ts";
