export * from "./claw/index.ts";
export type { TranscriptReader } from "./reader.ts";
export { READERS, readerNamed } from "./readers.ts";
