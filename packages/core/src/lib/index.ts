// The lowest folder: values, text, files and locks. Imports nothing else of the project.

export { type ByteLine, ByteLines } from "./byte-lines.ts";
export {
  holdFileLock,
  type LockBusy,
  type LockedWork,
  type LockGap,
  type LockOptions,
  mutexPath,
  tryWithFileLocks,
  withFileLockSync,
  withFileLocks,
} from "./file-lock.ts";
export {
  appendJsonLines,
  appendToOpen,
  type FileOwner,
  type FileVersion,
  GrowingLines,
  isDirectory,
  isFile,
  namesIn,
  parseJsonLines,
  type ReadFailure,
  readJsonLines,
  readTextFile,
  resolveLinks,
  syncDirectory,
  type TextUpdate,
  updateTextFile,
  versionOf,
  writeFileAtomic,
} from "./files.ts";
export {
  isAbsent,
  isRecord,
  isStringList,
  type JsonLimits,
  type JsonProblem,
  OUTSIDE_JSON,
  outsideJsonOr,
  outsideJsonProblem,
  parseOutsideJson,
  withoutUndefined,
} from "./json.ts";
export { describeHolder, forgetHolder, isAliveHere, isDeadHere, newHolder } from "./lease-holders.ts";
export {
  type Clock,
  isTimeZone,
  randomHex,
  sha256,
  systemClock,
  type TextModel,
} from "./ports.ts";
export { describeCause, err, errnoCode, HermesError, ok, type Result, sqliteCode } from "./result.ts";
export {
  CURATOR_TEMP,
  isStagedId,
  listStagedFiles,
  readStagedFile,
  removeStagedFile,
  type StagedRecord,
  type StagedRecords,
  stageFile,
} from "./staged-files.ts";
export {
  codePointLength,
  groupThousands,
  hasLoneSurrogate,
  isWhitespaceUnit,
  lowerAscii,
  normalizeNewlines,
  percentOf,
  preview,
  pyStrip,
  sliceCodePoints,
  snakeCase,
  takeCodePoints,
} from "./text.ts";
