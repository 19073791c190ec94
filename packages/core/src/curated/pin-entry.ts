// Pins or unpins one entry, found the way `replace` finds it.
import { err, ok, type Result } from "../lib/index.ts";
import { cleanText } from "./content-check.ts";
import { findEntry } from "./match.ts";
import { readMemoryFile } from "./memory-file.ts";
import { withPin } from "./pins.ts";
import type { TargetStore } from "./target-store.ts";
import type { EntryName, MemoryError } from "./types.ts";

/** Returns the whole entry. */
export function pinEntry(
  store: TargetStore,
  { oldText, match }: EntryName,
  isOn: boolean,
): Promise<Result<string, MemoryError>> {
  const needle = cleanText(oldText);
  if (needle === "")
    return Promise.resolve(err({ kind: "empty", message: "The text of the entry cannot be empty." }));
  return store.exclusively(() => {
    const file = readMemoryFile(store.paths.file);
    if (file.kind === "unreadable")
      return err({ kind: "io", message: `Cannot read ${store.paths.file}: ${file.reason}.` });
    store.load();
    const found = findEntry(store.entries, needle, match);
    if (!found.ok) return found;
    const entry = store.entries[found.value] as string;
    const changed = store.changePins((pins) => withPin(pins, store.target, entry, isOn));
    return changed.ok ? ok(entry) : changed;
  });
}
