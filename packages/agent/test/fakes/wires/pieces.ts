// Cuts what the model writes into events, such that an event ends wherever the script wants something to happen.
import type { Pieces } from "./format.ts";
import type { Reply } from "./script.ts";

const CHUNK_CHARS = 4;

/** What stops a reply early. */
export type Break = { readonly at: number; readonly how: "cut" | "stall" | "fail" };

export function breakOf({ cutAfterChars, stallAfterChars, failAfterChars }: Reply): Break | undefined {
  const asked = [
    { at: cutAfterChars, how: "cut" },
    { at: stallAfterChars, how: "stall" },
    { at: failAfterChars, how: "fail" },
  ] as const;
  const breaks = asked.flatMap(({ at, how }) => (at === undefined ? [] : [{ at, how }]));
  return breaks.sort((one, other) => one.at - other.at)[0];
}

/** Remembers how far the reply has come, so it serves one reply and its texts in order. */
export function piecesFor(reply: Reply): Pieces {
  const size = Math.max(1, reply.chunkChars ?? CHUNK_CHARS);
  const marks = [breakOf(reply)?.at, reply.pauseAt?.chars].filter((mark) => mark !== undefined);
  let position = 0;
  return (text) => {
    const pieces: string[] = [];
    const chars = [...text];
    for (let start = 0; start < chars.length; ) {
      const here = position + start;
      const next = marks.map((mark) => mark - here).filter((distance) => distance > 0);
      const length = Math.min(size, ...next);
      pieces.push(chars.slice(start, start + length).join(""));
      start += length;
    }
    position += chars.length;
    return pieces;
  };
}

/** The bytes in writes that go apart inside a character. */
export function splitInsideCharacters(bytes: Uint8Array): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  let start = 0;
  for (const [index, byte] of bytes.entries()) {
    const isFirstOfSeveral = byte >= 0xc0;
    if (!isFirstOfSeveral) continue;
    parts.push(bytes.subarray(start, index + 1));
    start = index + 1;
  }
  return [...parts, bytes.subarray(start)];
}
