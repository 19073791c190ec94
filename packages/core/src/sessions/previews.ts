// One line that reminds a person of a message. Lengths are code points; a surrogate pair is never cut.
import { codePointLength, isWhitespaceUnit, preview, pyStrip, takeCodePoints } from "../lib/index.ts";
import { contentText, plainText } from "../message/index.ts";

/** A session in a listing: the beginning of its first user message. Content without text gives "". */
export function sessionPreview(content: unknown): string {
  // Three more than are shown, as the original's query reads them: blanks at the end then do not count as cut text.
  const head = takeCodePoints(plainText(content) ?? "", 63);
  return preview(pyStrip(head.replace(/[\r\n]/g, " ")), 60);
}

/** What the user said beside the summary of a compaction; undefined for a message that is nothing but one. */
export function withoutSummary(content: unknown): unknown {
  const text = plainText(content);
  if (text === null || text === undefined || !SUMMARY.test(text)) return content;
  const end = text.lastIndexOf(SUMMARY_END);
  const own = end < 0 ? "" : pyStrip(text.slice(end + SUMMARY_END.length));
  return own === "" ? undefined : own;
}

/** As today's and June's compactions begin one, and where one that was merged into a message ends. */
const SUMMARY = /^\s*(?:\[CONTEXT COMPACTION|\[CONTEXT SUMMARY\]:)/;
const SUMMARY_END = "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---";

/** A message in the list of turns to go back to. */
export function userMessagePreview(content: unknown): string {
  // A list without text is a picture or the like; any other structure says nothing to a person.
  const text = Array.isArray(content) ? contentText(content) : (plainText(content) ?? "");
  const line = collapseWhitespace(text, 81);
  return codePointLength(line) > 80 ? `${takeCodePoints(line, 77)}...` : line;
}

/** Words with one blank between them, as Python's split and join give. Stops when it has `enough` code points. */
export function collapseWhitespace(text: string, enough = Number.POSITIVE_INFINITY): string {
  const words: string[] = [];
  let wordStart = -1;
  let length = -1; // the first word has no blank before it
  for (let at = 0; at <= text.length && length < enough; at += 1) {
    if (at < text.length && !isWhitespaceUnit(text.charCodeAt(at))) {
      if (wordStart < 0) wordStart = at;
    } else if (wordStart >= 0) {
      const word = text.slice(wordStart, at);
      words.push(word);
      length += codePointLength(word) + 1;
      wordStart = -1;
    }
  }
  return words.join(" ");
}
