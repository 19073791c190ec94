// A tool result that is too long for a conversation is kept in a file. The stored row of the result ends with a note that names
// it, and that note is the only record of which session the file belongs to. Pure: writing the note and reading it back.
import { groupThousands } from "../lib/index.ts";

export type NotedResult = {
  /** The file's name without `.txt`. */
  readonly id: string;
  /** Of the whole text, in code points. */
  readonly chars: number;
};

export type ResultNote = NotedResult & {
  readonly shownChars: number;
  /** The tool that reads kept results, when the model has it. */
  readonly reader?: string | undefined;
};

const CALL_CHARS = 48;
/** `<call id, as far as a file name can hold it>-<8 random hex digits>`. */
export const RESULT_ID = new RegExp(`^[A-Za-z0-9_-]{0,${CALL_CHARS}}-[0-9a-f]{8}$`);

/** Part of every note. A query looks for it before anything is parsed. */
export const NOTE_SIGN = "[The result has ";
const SIZE =
  /^\[The result has ([0-9,]{1,20}) characters; only the first [0-9,]{1,20} (?:is|are) shown\. (.+)\]$/s;
const KEPT = /^All of it is kept as result ([A-Za-z0-9_-]{1,64})[;:] /;
// Version 0.1.0 named the file. Its directory is not compared: a home can be moved, and the file moves along.
const IN_FILE =
  /^All of it is in the file .*[\\/]tool-results[\\/]([A-Za-z0-9_-]{1,64})\.txt: read it in parts /s;

export function resultIdFor(callId: string, random: string): string {
  return `${callPart(callId)}-${random}`;
}

export function resultNote({ id, chars, shownChars, reader }: ResultNote): string {
  const how =
    reader === undefined
      ? "; no tool of yours reads it, so call the tool again with arguments that ask for less."
      : `: read it in parts with ${reader}, or call the tool again with arguments that ask for less.`;
  return `[${shownSize(chars, shownChars)} All of it is kept as result ${id}${how}]`;
}

/** For a text that could not be kept; nothing is named. */
export function lostResultNote(chars: number, shownChars: number, why: string): string {
  return `[${shownSize(chars, shownChars)} The rest could not be kept (${why}); ask for less and call the tool again.]`;
}

/**
 * The kept result that a stored tool result names. Only the end of the text counts, and the id must carry the call the row
 * answers: a note that is quoted in another result, such as one of session_search, gives no access to the file.
 */
export function notedResult(content: unknown, toolCallId: unknown): NotedResult | undefined {
  if (typeof content !== "string" || typeof toolCallId !== "string" || !content.endsWith("]"))
    return undefined;
  const start = content.lastIndexOf(NOTE_SIGN);
  const [, chars = "", rest = ""] = (start < 0 ? null : SIZE.exec(content.slice(start))) ?? [];
  const id = (KEPT.exec(rest) ?? IN_FILE.exec(rest))?.[1];
  if (id === undefined || !RESULT_ID.test(id) || id.slice(0, -9) !== callPart(toolCallId)) return undefined;
  return { id, chars: Number(chars.replaceAll(",", "")) };
}

/** A text from outside that ends like such a note must not give access to the file it names. */
export function withoutResultNote(text: string, toolCallId: string): string {
  return notedResult(text, toolCallId) === undefined ? text : `${text}\n(End of the tool's text.)`;
}

function callPart(callId: string): string {
  return callId.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, CALL_CHARS);
}

function shownSize(chars: number, shown: number): string {
  return `The result has ${groupThousands(chars)} characters; only the first ${groupThousands(shown)} are shown.`;
}
