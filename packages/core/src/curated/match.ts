// Finds the one entry a short piece of text stands for.
import { err, ok, preview, type Result } from "../lib/index.ts";
import type { EntryMatch, MemoryError } from "./types.ts";

const PREVIEW_CHARS = 80;
const ECHO_CHARS = 1000; // nobody needs ten megabytes back

/**
 * Index of the entry that is `needle`, else of the one that contains it. Several that contain it are fine only when their
 * texts are identical.
 */
export function findEntry(
  entries: readonly string[],
  needle: string,
  match?: EntryMatch,
): Result<number, MemoryError> {
  const equal = entries.indexOf(needle);
  if (equal >= 0) return ok(equal);
  if (match !== undefined) {
    const message = `The entry '${preview(needle, PREVIEW_CHARS)}' is not stored any more. Nothing was changed.`;
    return err({ kind: "no_match", message });
  }
  const found = entries.flatMap((entry, index) => (entry.includes(needle) ? [{ entry, index }] : []));
  const first = found[0];
  const asked = preview(needle, ECHO_CHARS);
  if (!first) return err({ kind: "no_match", message: `No entry matched '${asked}'.` });
  if (found.some(({ entry }) => entry !== first.entry)) {
    return err({
      kind: "ambiguous",
      message: `Multiple entries matched '${asked}'. Be more specific.`,
      matches: found.map(({ entry }) => preview(entry, PREVIEW_CHARS)),
      entries: found.map(({ entry }) => entry),
    });
  }
  return ok(first.index);
}
