// Ground floor: values, text, files. Knows nothing about memory.
export {
  type AtomicWriteOptions,
  type FileOwner,
  resolveLinks,
  syncDirectory,
  writeFileAtomic,
} from "./atomic-write.ts";
export { type ByteLine, ByteLines } from "./byte-lines.ts";
export { type Clock, distinctSeconds, isTimeZone, systemClock } from "./clock.ts";
export { namesIn } from "./directory.ts";
export { describeCause, errnoCode, HermesError } from "./errors.ts";
export {
  holdFileLock,
  type LockBusy,
  type LockedWork,
  type LockGap,
  type LockOptions,
  tryWithFileLocks,
  withFileLockSync,
  withFileLocks,
} from "./file-lock.ts";
export { sha256 } from "./hash.ts";
export { randomHex } from "./ids.ts";
export {
  appendJsonLines,
  appendToOpen,
  type FileVersion,
  GrowingLines,
  parseJsonLines,
  readJsonLines,
  versionOf,
} from "./jsonl.ts";
export {
  type JsonLimits,
  JsonNesting,
  type JsonProblem,
  OUTSIDE_JSON,
  outsideJsonOr,
  outsideJsonProblem,
  parseOutsideJson,
} from "./outside-json.ts";
export { isRecord } from "./record.ts";
export { err, ok, type Result } from "./result.ts";
export { mutexPath } from "./sqlite-mutex.ts";
export {
  codePointLength,
  groupThousands,
  hasLoneSurrogate,
  isWhitespaceUnit,
  normalizeNewlines,
  percentOf,
  preview,
  pyStrip,
  sliceCodePoints,
  takeCodePoints,
} from "./text.ts";
export type { TextModel } from "./text-model.ts";
