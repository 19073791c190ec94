// What becomes of a context file's text on its way into the prompt: front matter off, scanned, given a heading, cut.
// Pure.
import { codePointLength, pyStrip, takeCodePoints } from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import { PROJECT_CONTEXT } from "./guidance.ts";

export type ScreenedText = {
  readonly text: string;
  /** Threat patterns found; with any, `text` is a note that stands for the whole file. */
  readonly ids: readonly string[];
};

/** The whole file is scanned, also what will be cut from it. The note matches no pattern itself. */
export function screenFile(name: string, text: string): ScreenedText {
  const ids = scanThreats(text, "context").map(({ id }) => id);
  if (ids.length === 0) return { text, ids };
  const note = `[BLOCKED: ${name} contained potential prompt injection (${ids.join(", ")}). Content not loaded.]`;
  return { text: note, ids };
}

export type Cut = { readonly head: number; readonly tail: number; readonly total: number };

/** Counted in code points. A text that fits exactly is left alone. */
export function cutMiddle(
  text: string,
  label: string,
  maxChars: number,
): { readonly text: string; readonly cut?: Cut } {
  const total = codePointLength(text);
  if (total <= maxChars) return { text };
  const head = Math.trunc(maxChars * 0.7);
  const tail = Math.trunc(maxChars * 0.2);
  const note = `[...truncated ${label}: kept ${head}+${tail} of ${total} chars. Use file tools to read the full file.]`;
  const end = text.slice(takeCodePoints(text, total - tail).length);
  return { text: `${takeCodePoints(text, head)}\n\n${note}\n\n${end}`, cut: { head, tail, total } };
}

/** Settings other programs keep between two lines of `---`. They stay when they are not closed, or all there is. */
export function withoutFrontMatter(text: string): string {
  const opened = /^---[ \t]*\n/.exec(text);
  if (opened === null) return text;
  const closing = /^---[ \t]*$/gm;
  closing.lastIndex = opened[0].length;
  const closed = closing.exec(text);
  if (closed === null) return text;
  const body = pyStrip(text.slice(closed.index + closed[0].length));
  return body === "" ? text : body;
}

export function fileSection(name: string, text: string): string {
  return `## ${name}\n\n${text}`;
}

/** "" without anything to show. */
export function projectContext(section: string): string {
  return section === "" ? "" : `# Project Context\n\n${PROJECT_CONTEXT}\n\n${section}`;
}
