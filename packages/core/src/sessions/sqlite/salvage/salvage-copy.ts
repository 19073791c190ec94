// Copies every readable row of a damaged database into a new one.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { randomHex } from "../../../lib/index.ts";
import { fileBehind } from "../damage.ts";
import { copyDatabase, removeParts } from "../database-file.ts";
import { rebuild, type Salvage } from "./rebuild.ts";

export type SalvageCopy = Disposable & Salvage & { readonly path: string };

/** Uses up to twice the size of the database in the folder for temporary files, until it is disposed of. */
export async function salvageCopy(path: string): Promise<SalvageCopy> {
  const folder = mkdtempSync(join(tmpdir(), "hermes-salvage-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const target = join(folder, "state.db");
    const { salvage } = await salvageInto(fileBehind(path), target);
    if ((salvage.rows.sessions ?? 0) === 0 && (salvage.rows.messages ?? 0) === 0)
      throw new Error(`No conversation could be read from ${path}.`);
    return { ...salvage, path: target, [Symbol.dispose]: remove };
  } catch (cause) {
    remove();
    throw cause;
  }
}

/** The damaged file is copied first and not touched. */
export async function salvageInto(
  file: string,
  target: string,
): Promise<{ readonly salvage: Salvage; readonly fingerprint: string }> {
  const copy = `${target}.reading-${randomHex(6)}`;
  try {
    const fingerprint = await copyDatabase(file, copy);
    mergeLogs(copy);
    return { salvage: await rebuild(copy, target), fingerprint };
  } finally {
    removeParts(copy);
  }
}

/** Closing the last connection merges the log into the file, and an interrupted transaction is rolled back. */
function mergeLogs(copy: string): void {
  try {
    using db = new DatabaseSync(copy, { timeout: 50 });
    db.prepare("SELECT 1 FROM sqlite_master LIMIT 1").get();
  } catch {
    // The schema cannot be read, but SQLite has processed the logs before it found that out.
  }
}
