// The input line: text, cursor and history, what each key does, completion, and a yes-or-no question in its place. Pure.
import { normalizeNewlines } from "@hermes-memory/core/internal/lib";
import { graphemesOf } from "../printing.ts";
import { safe } from "./transcript.ts";

export type EditorKey =
  | {
      readonly kind: "key";
      /** The name Node gives the key: `left`, `return`, `a`; undefined for characters without a name. */
      readonly name?: string | undefined;
      /** The text the key types. */
      readonly text?: string | undefined;
      readonly isCtrl?: boolean;
      readonly isMeta?: boolean;
    }
  | { readonly kind: "paste"; readonly text: string };

export type Editor = {
  readonly text: string;
  /** UTF-16 offset, never inside a character. */
  readonly cursor: number;
  /** Sent messages, oldest first. */
  readonly history: readonly string[];
  /** Index in `history` of the shown text; its length stands for the text being written. */
  readonly historyIndex: number;
  /** The text being written, while an older one is shown. */
  readonly draft: string;
  /** The last cut text, for Ctrl-Y. */
  readonly cut: string;
};

/** For the owner of the editor to carry out. */
export type EditorRequest =
  | { readonly kind: "submit"; readonly text: string }
  | { readonly kind: "complete" }
  /** Ctrl-C. */
  | { readonly kind: "interrupt" }
  /** Ctrl-D with nothing written. */
  | { readonly kind: "end" }
  | { readonly kind: "clear-screen" }
  | { readonly kind: "suspend" };

export type EditorStep = { readonly editor: Editor; readonly request?: EditorRequest };

// Not typed on purpose. Newline and tab may be part of a pasted text.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

export function startEditor(history: readonly string[] = []): Editor {
  return { text: "", cursor: 0, history, historyIndex: history.length, draft: "", cut: "" };
}

/** Replaces the text and puts the cursor at its end. */
export function withText(editor: Editor, text: string): Editor {
  return { ...editor, text, cursor: text.length, historyIndex: editor.history.length, draft: "" };
}

/** Adds to the history, unless it equals the last entry. */
export function remembered(editor: Editor, text: string): Editor {
  const isNew = text !== "" && editor.history.at(-1) !== text;
  const history = isNew ? [...editor.history, text] : editor.history;
  return { ...editor, history, historyIndex: history.length, draft: "" };
}

// The keys, by Node's name with `ctrl-` or `meta-` in front.

type OffsetOf = (text: string, cursor: number) => number;
type RangeOf = (text: string, cursor: number) => readonly [from: number, to: number];

const MOVES: Readonly<Record<string, OffsetOf>> = {
  left: before,
  right: after,
  home: lineStart,
  end: lineEnd,
  "ctrl-b": before,
  "ctrl-f": after,
  "ctrl-a": lineStart,
  "ctrl-e": lineEnd,
  "ctrl-left": wordBefore,
  "ctrl-right": wordAfter,
  "meta-left": wordBefore,
  "meta-right": wordAfter,
  "meta-b": wordBefore,
  "meta-f": wordAfter,
};

const DELETIONS: Readonly<Record<string, RangeOf>> = {
  backspace: (text, cursor) => [before(text, cursor), cursor],
  "ctrl-h": (text, cursor) => [before(text, cursor), cursor], // some terminals send it for backspace
  delete: (text, cursor) => [cursor, after(text, cursor)],
};

/** Ctrl-Y inserts the text that one of these removed last. */
const CUTS: Readonly<Record<string, RangeOf>> = {
  "ctrl-u": (text, cursor) => [lineStart(text, cursor), cursor],
  "ctrl-k": (text, cursor) => {
    const end = lineEnd(text, cursor);
    return [cursor, end === cursor ? after(text, cursor) : end];
  },
  "ctrl-w": (text, cursor) => [blankBefore(text, cursor), cursor],
  "meta-d": (text, cursor) => [cursor, wordAfter(text, cursor)],
  "meta-backspace": (text, cursor) => [wordBefore(text, cursor), cursor],
};

const REQUESTS: Readonly<Record<string, EditorRequest>> = {
  tab: { kind: "complete" },
  "ctrl-c": { kind: "interrupt" },
  "ctrl-l": { kind: "clear-screen" },
  "ctrl-z": { kind: "suspend" },
};

/** Node calls Ctrl-J `enter`; some terminals send it for Shift-Enter. */
const NEW_LINE: ReadonlySet<string> = new Set(["enter", "ctrl-j", "meta-return", "meta-enter"]);

export function stepEditor(editor: Editor, key: EditorKey): EditorStep {
  if (key.kind === "paste") return { editor: inserted(editor, cleaned(key.text)) };
  const { text, cursor, cut } = editor;
  const name = `${key.isCtrl ? "ctrl-" : key.isMeta ? "meta-" : ""}${key.name ?? ""}`;
  const [request, move, deletion, cutting] = [REQUESTS[name], MOVES[name], DELETIONS[name], CUTS[name]];
  if (request) return { editor, request };
  if (move) return { editor: moved(editor, move(text, cursor)) };
  if (deletion) return { editor: removed(editor, ...deletion(text, cursor)) };
  if (cutting) return { editor: cutOut(editor, ...cutting(text, cursor)) };
  if (NEW_LINE.has(name)) return { editor: inserted(editor, "\n") };
  switch (name) {
    case "return":
      return submitted(editor);
    case "up":
    case "ctrl-p":
      return { editor: upward(editor) };
    case "down":
    case "ctrl-n":
      return { editor: downward(editor) };
    case "ctrl-d":
      if (text === "") return { editor, request: { kind: "end" } };
      return { editor: removed(editor, cursor, after(text, cursor)) };
    case "ctrl-y":
      return { editor: inserted(editor, cut) };
    default:
      return { editor: key.isCtrl || key.isMeta ? editor : typed(editor, key.text ?? "") };
  }
}

function typed(editor: Editor, text: string): Editor {
  return inserted(editor, cleaned(text).replaceAll(/[\n\t]/g, ""));
}

/** A backslash at the end starts a new line instead. */
function submitted(editor: Editor): EditorStep {
  const { text, cursor } = editor;
  if (cursor === text.length && text.endsWith("\\"))
    return { editor: inserted(removed(editor, cursor - 1, cursor), "\n") };
  const empty = withText(editor, "");
  return text.trim() === "" ? { editor: empty } : { editor: empty, request: { kind: "submit", text } };
}

/** To the line above, or from the first line to the older history entry. */
function upward(editor: Editor): Editor {
  const { text, cursor, historyIndex, history } = editor;
  const start = lineStart(text, cursor);
  if (start > 0) return moved(editor, sameColumn(text, cursor, lineStart(text, start - 1)));
  const older = history[historyIndex - 1];
  if (older === undefined) return editor;
  const draft = historyIndex === history.length ? text : editor.draft;
  return { ...editor, text: older, cursor: older.length, historyIndex: historyIndex - 1, draft };
}

/** To the line below, or from the last line to the newer history entry. */
function downward(editor: Editor): Editor {
  const { text, cursor, historyIndex, history, draft } = editor;
  const end = lineEnd(text, cursor);
  if (end < text.length) return moved(editor, sameColumn(text, cursor, end + 1));
  if (historyIndex >= history.length) return editor;
  const newer = history[historyIndex + 1] ?? draft;
  return { ...editor, text: newer, cursor: newer.length, historyIndex: historyIndex + 1 };
}

/** The offset in the line at `start` with the cursor's column, or the end of that line. */
function sameColumn(text: string, cursor: number, start: number): number {
  const end = lineEnd(text, start);
  let offset = start;
  for (let at = lineStart(text, cursor); at < cursor && offset < end; at = after(text, at))
    offset = after(text, offset);
  return offset;
}

/** Ctrl-W cuts back to the last blank, as shells do, so that a path is cut as one word. */
function blankBefore(text: string, cursor: number): number {
  return text.slice(0, cursor).replace(/\S*\s*$/u, "").length;
}

function inserted(editor: Editor, typed: string): Editor {
  const { text, cursor } = editor;
  return {
    ...editor,
    text: text.slice(0, cursor) + typed + text.slice(cursor),
    cursor: cursor + typed.length,
  };
}

function removed(editor: Editor, from: number, to: number): Editor {
  return { ...editor, text: editor.text.slice(0, from) + editor.text.slice(to), cursor: from };
}

function cutOut(editor: Editor, from: number, to: number): Editor {
  return from === to ? editor : { ...removed(editor, from, to), cut: editor.text.slice(from, to) };
}

function moved(editor: Editor, cursor: number): Editor {
  return { ...editor, cursor };
}

function cleaned(text: string): string {
  return normalizeNewlines(text).replace(CONTROLS, "").toWellFormed();
}

// Offsets between visible characters, and between words. The cursor is always at one of them.

const WORD = /[\p{L}\p{N}\p{M}_]/u;

/** The offset before the character that ends at `cursor`. */
function before(text: string, cursor: number): number {
  if (cursor <= 0) return 0;
  const start = lineStart(text, cursor);
  if (start === cursor) return cursor - 1; // the newline itself
  return cursor - (graphemesOf(text.slice(start, cursor)).at(-1)?.length ?? 1);
}

/** The offset after the character that begins at `cursor`. */
function after(text: string, cursor: number): number {
  if (cursor >= text.length) return text.length;
  const end = lineEnd(text, cursor);
  if (end === cursor) return cursor + 1;
  return cursor + (graphemesOf(text.slice(cursor, end))[0]?.length ?? 1);
}

function wordBefore(text: string, cursor: number): number {
  let offset = cursor;
  while (offset > 0 && !WORD.test(text.slice(before(text, offset), offset))) offset = before(text, offset);
  while (offset > 0 && WORD.test(text.slice(before(text, offset), offset))) offset = before(text, offset);
  return offset;
}

function wordAfter(text: string, cursor: number): number {
  let offset = cursor;
  while (offset < text.length && !WORD.test(text.slice(offset, after(text, offset))))
    offset = after(text, offset);
  while (offset < text.length && WORD.test(text.slice(offset, after(text, offset))))
    offset = after(text, offset);
  return offset;
}

function lineStart(text: string, cursor: number): number {
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
}

function lineEnd(text: string, cursor: number): number {
  const end = text.indexOf("\n", cursor);
  return end < 0 ? text.length : end;
}

// Completion of slash commands with Tab.

type Completion = {
  readonly editor: Editor;
  /** The candidates, when there are several. */
  readonly choices: readonly string[];
};

/** `complete` gets the text before the cursor and returns whole texts that begin with it. */
export function completed(editor: Editor, complete: (prefix: string) => readonly string[]): Completion {
  const { text, cursor } = editor;
  const written = text.slice(0, cursor);
  if (!/^\/.*$/.test(written)) return { editor, choices: [] };
  const choices = complete(written).filter((name) => name.startsWith(written));
  const [only, ...others] = choices;
  if (only === undefined) return { editor, choices: [] };
  const rest = text.slice(cursor);
  const filled = others.length > 0 ? commonBeginning(choices) : rest.startsWith(" ") ? only : `${only} `;
  return {
    editor: { ...editor, text: filled + rest, cursor: filled.length },
    choices: others.length > 0 ? choices : [],
  };
}

function commonBeginning([first = "", ...others]: readonly string[]): string {
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}

// A yes-or-no question. It takes a line and not a single key, because the user may have been typing when it appeared.

export type Answer = "yes" | "no" | "none";

export type Question = { readonly text: string; readonly editor: Editor };

type QuestionStep = { readonly question: Question; readonly answer?: Answer };

export function startQuestion(text: string): Question {
  return { text: `${safe(text)} [y/N]`, editor: startEditor() };
}

/** `none` stands for Ctrl-C and Ctrl-D. Any other text than yes or no is asked for again. */
export function stepQuestion(question: Question, key: EditorKey): QuestionStep {
  if (key.kind === "key" && key.name === "return") {
    const answer = question.editor.text.trim().toLowerCase();
    if (answer === "y" || answer === "yes") return { question, answer: "yes" };
    if (answer === "" || answer === "n" || answer === "no") return { question, answer: "no" };
    return { question: { ...question, editor: withText(question.editor, "") } };
  }
  const { editor, request } = stepEditor(question.editor, key);
  if (request?.kind === "interrupt" || request?.kind === "end") return { question, answer: "none" };
  return { question: { ...question, editor } };
}
