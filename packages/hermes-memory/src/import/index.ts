export * from "./claw/index.ts";
export { readerOf, sampleOf } from "./find-reader.ts";
export {
  type Filters,
  type ImportProgress,
  type ImportReport,
  importTranscripts,
  type SourceReport,
  type Wanted,
} from "./import-transcripts.ts";
export * from "./notes/index.ts";
export { DEFAULT_PREPARE, type PrepareOptions } from "./prepare.ts";
export type { Place, TranscriptReader } from "./reader.ts";
export { openclaw, READERS, readerNamed } from "./readers.ts";
export {
  importStateDatabase,
  isSameFile,
  lookInto,
  type StateImported,
  stateDatabaseAt,
} from "./state-db.ts";
export { dryTarget, storeTarget } from "./target.ts";
export { watchTranscripts } from "./watch.ts";
