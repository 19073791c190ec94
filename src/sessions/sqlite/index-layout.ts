// Names of the original's index and of a conversion that 0.2.0 left. To be deleted when no file imports it any more: the
// search and the repair of before do (ensure-schema.ts has UPSTREAM_INDEXES, index/former-layout.ts the rest).
export const FTS_TABLES = ["messages_fts", "messages_fts_trigram"] as const;
export type FtsTable = (typeof FTS_TABLES)[number];
export const BUILD = "hermes_memory_build";
