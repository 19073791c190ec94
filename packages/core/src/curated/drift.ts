// Notices when a file holds something a rewrite would destroy or that no program of ours would have written.
import { codePointLength, pyStrip } from "../lib/index.ts";
import { ENTRY_DELIMITER, parseEntries } from "./format.ts";

export type Drift =
  | { readonly kind: "oversized"; readonly chars: number; readonly limit: number }
  | { readonly kind: "unparsed_append" };

/**
 * `text` has LF line ends. Whitespace and empty pieces around delimiters are what people leave behind when they edit by
 * hand; a rewrite tidies them and loses nothing. Two things stop it: an entry longer than the whole file may be (text
 * pasted in without delimiters), and a blank line before a delimiter but none behind it, the trace of a program that
 * appended to a file without reading it and so did not know where the last entry ended.
 */
export function findDrift(text: string, limit: number): Drift | undefined {
  for (const entry of parseEntries(text)) {
    const chars = codePointLength(entry);
    if (chars > limit) return { kind: "oversized", chars, limit };
  }
  return hasUnparsedAppend(pyStrip(text)) ? { kind: "unparsed_append" } : undefined;
}

function hasUnparsedAppend(text: string): boolean {
  const pieces = text.split(ENTRY_DELIMITER);
  return pieces.some((piece, index) => {
    const next = pieces[index + 1];
    return (
      next !== undefined &&
      pyStrip(piece) !== "" &&
      /\n[^\S\n]*$/.test(tail(piece)) &&
      !/^[^\S\n]*(?:\n|$)/.test(head(next))
    );
  });
}

// Only the whitespace next to the delimiter matters; cutting keeps the two expressions cheap on any text.
const NEAR = 200;
const tail = (piece: string): string => piece.slice(-NEAR);
const head = (piece: string): string => piece.slice(0, NEAR);
