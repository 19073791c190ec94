// Sessions of Kilo since it is built on opencode: the same tables in a database of its own.
import type { TranscriptReader } from "../reader.ts";
import { readerOf } from "./opencode.ts";

export const kiloReader: TranscriptReader = readerOf({
  source: "kilo",
  title: "Kilo",
  folder: "kilo",
  database: /^kilo(?:-.+)?\.db$/,
});
