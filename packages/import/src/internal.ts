export * from "./notes/index.ts";
export * from "./openclaw/index.ts";
export { readerOf, sampleOf } from "./transcripts/find-reader.ts";
export {
  type Filters,
  type ImportProgress,
  type ImportReport,
  importTranscripts,
  type SourceReport,
  type Wanted,
} from "./transcripts/import-transcripts.ts";
export { DEFAULT_PREPARE, type PrepareOptions } from "./transcripts/prepare.ts";
export type { Place, TranscriptReader } from "./transcripts/reader.ts";
export { openclaw, READERS, readerNamed } from "./transcripts/readers.ts";
export {
  importStateDatabase,
  isSameFile,
  lookInto,
  type StateImported,
  stateDatabaseAt,
} from "./transcripts/state-db.ts";
export { dryTarget, storeTarget } from "./transcripts/target.ts";
export { watchTranscripts } from "./transcripts/watch.ts";
