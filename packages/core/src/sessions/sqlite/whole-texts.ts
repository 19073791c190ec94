// Node 22 ends a text it reads at the first zero character. Structured content begins with one ("\0json:"), so it would be read as
// empty, and a conversation that is written back would lose it. `engines` says Node 24, but npm only warns.
import { DatabaseSync } from "node:sqlite";

const TEXT = "\0json:[1]";

let isWhole: boolean | undefined;

export function readsWholeTexts(): boolean {
  isWhole ??= isReadBack(() => new DatabaseSync(":memory:"));
  return isWhole;
}

export function isReadBack(open: () => DatabaseSync): boolean {
  const db = open();
  try {
    return db.prepare("SELECT CAST(? AS TEXT) AS text").get(TEXT)?.text === TEXT;
  } finally {
    db.close();
  }
}
