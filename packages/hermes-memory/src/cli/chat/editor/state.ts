// The input line: what is written, where the cursor is, and what each key makes of it. No terminal in here.
import { normalizeNewlines } from "@hermes-memory/core/lib";
import { after, before, lineEnd, lineStart, wordAfter, wordBefore } from "./graphemes.ts";

export type EditorKey =
  | {
      readonly kind: "key";
      /** As Node names keys: `left`, `return`, `a`; undefined for a character that is no key of its own. */
      readonly name?: string | undefined;
      /** What the key types. */
      readonly text?: string | undefined;
      readonly isCtrl?: boolean;
      readonly isMeta?: boolean;
    }
  | { readonly kind: "paste"; readonly text: string };

export type Editor = {
  readonly text: string;
  /** UTF-16 offset, never inside a character. */
  readonly cursor: number;
  /** What was sent before, oldest first. */
  readonly history: readonly string[];
  /** Index in `history` of what is shown; its length stands for the text that is being written. */
  readonly place: number;
  /** That text, while an older one is shown. */
  readonly draft: string;
  /** What was cut last, for Ctrl-Y. */
  readonly cut: string;
};

/** What is left to whoever owns the editor. */
export type EditorWish =
  | { readonly kind: "submit"; readonly text: string }
  | { readonly kind: "complete" }
  /** Ctrl-C. */
  | { readonly kind: "interrupt" }
  /** Ctrl-D with nothing written. */
  | { readonly kind: "end" }
  | { readonly kind: "clear-screen" }
  | { readonly kind: "suspend" };

export type EditorStep = { readonly editor: Editor; readonly wish?: EditorWish };

type Key = Extract<EditorKey, { kind: "key" }>;

// Nobody types these on purpose; newline and tab may come with a pasted text.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

export function startEditor(history: readonly string[] = []): Editor {
  return { text: "", cursor: 0, history, place: history.length, draft: "", cut: "" };
}

/** The text to go on from, cursor at its end. */
export function withText(editor: Editor, text: string): Editor {
  return { ...editor, text, cursor: text.length, place: editor.history.length, draft: "" };
}

/** A text twice in a row is kept once. */
export function remembered(editor: Editor, text: string): Editor {
  const isNew = text !== "" && editor.history.at(-1) !== text;
  const history = isNew ? [...editor.history, text] : editor.history;
  return { ...editor, history, place: history.length, draft: "" };
}

export function stepEditor(editor: Editor, key: EditorKey): EditorStep {
  if (key.kind === "paste") return { editor: inserted(editor, cleaned(key.text)) };
  if (key.isCtrl) return control(editor, key);
  if (key.isMeta) return { editor: meta(editor, key) };
  return plain(editor, key);
}

function plain(editor: Editor, key: Key): EditorStep {
  const { text, cursor } = editor;
  switch (key.name) {
    case "return":
      return submitted(editor);
    case "enter": // Ctrl-J, and what some terminals send for Shift-Enter
      return { editor: inserted(editor, "\n") };
    case "tab":
      return { editor, wish: { kind: "complete" } };
    case "left":
      return { editor: moved(editor, before(text, cursor)) };
    case "right":
      return { editor: moved(editor, after(text, cursor)) };
    case "home":
      return { editor: moved(editor, lineStart(text, cursor)) };
    case "end":
      return { editor: moved(editor, lineEnd(text, cursor)) };
    case "up":
      return { editor: upward(editor) };
    case "down":
      return { editor: downward(editor) };
    case "backspace":
      return { editor: removed(editor, before(text, cursor), cursor) };
    case "delete":
      return { editor: removed(editor, cursor, after(text, cursor)) };
    default: {
      const typed = cleaned(key.text ?? "").replaceAll(/[\n\t]/g, "");
      return { editor: typed === "" ? editor : inserted(editor, typed) };
    }
  }
}

function control(editor: Editor, { name }: Key): EditorStep {
  const { text, cursor, cut } = editor;
  switch (name) {
    case "c":
      return { editor, wish: { kind: "interrupt" } };
    case "d":
      if (text === "") return { editor, wish: { kind: "end" } };
      return { editor: removed(editor, cursor, after(text, cursor)) };
    case "l":
      return { editor, wish: { kind: "clear-screen" } };
    case "z":
      return { editor, wish: { kind: "suspend" } };
    case "j":
      return { editor: inserted(editor, "\n") };
    case "a":
      return { editor: moved(editor, lineStart(text, cursor)) };
    case "e":
      return { editor: moved(editor, lineEnd(text, cursor)) };
    case "b":
      return { editor: moved(editor, before(text, cursor)) };
    case "f":
      return { editor: moved(editor, after(text, cursor)) };
    case "p":
      return { editor: upward(editor) };
    case "n":
      return { editor: downward(editor) };
    case "h": // what some terminals send for backspace
      return { editor: removed(editor, before(text, cursor), cursor) };
    case "u":
      return { editor: cutOut(editor, lineStart(text, cursor), cursor) };
    case "k": {
      const end = lineEnd(text, cursor);
      return { editor: cutOut(editor, cursor, end === cursor ? after(text, cursor) : end) };
    }
    case "w":
      return { editor: cutOut(editor, blankBefore(text, cursor), cursor) };
    case "y":
      return { editor: inserted(editor, cut) };
    case "left":
      return { editor: moved(editor, wordBefore(text, cursor)) };
    case "right":
      return { editor: moved(editor, wordAfter(text, cursor)) };
    default:
      return { editor };
  }
}

function meta(editor: Editor, { name }: Key): Editor {
  const { text, cursor } = editor;
  switch (name) {
    case "return":
    case "enter":
      return inserted(editor, "\n");
    case "b":
    case "left":
      return moved(editor, wordBefore(text, cursor));
    case "f":
    case "right":
      return moved(editor, wordAfter(text, cursor));
    case "d":
      return cutOut(editor, cursor, wordAfter(text, cursor));
    case "backspace":
      return cutOut(editor, wordBefore(text, cursor), cursor);
    default:
      return editor;
  }
}

/** A backslash at the very end asks for one more line. */
function submitted(editor: Editor): EditorStep {
  const { text, cursor } = editor;
  if (cursor === text.length && text.endsWith("\\"))
    return { editor: inserted(removed(editor, cursor - 1, cursor), "\n") };
  const empty = withText(editor, "");
  return text.trim() === "" ? { editor: empty } : { editor: empty, wish: { kind: "submit", text } };
}

/** To the line above; from the first one into the past. */
function upward(editor: Editor): Editor {
  const { text, cursor, place, history } = editor;
  const start = lineStart(text, cursor);
  if (start > 0) return moved(editor, sameColumn(text, cursor, lineStart(text, start - 1)));
  const older = history[place - 1];
  if (older === undefined) return editor;
  const draft = place === history.length ? text : editor.draft;
  return { ...editor, text: older, cursor: older.length, place: place - 1, draft };
}

/** To the line below; from the last one back towards the text that is being written. */
function downward(editor: Editor): Editor {
  const { text, cursor, place, history, draft } = editor;
  const end = lineEnd(text, cursor);
  if (end < text.length) return moved(editor, sameColumn(text, cursor, end + 1));
  if (place >= history.length) return editor;
  const newer = history[place + 1] ?? draft;
  return { ...editor, text: newer, cursor: newer.length, place: place + 1 };
}

/** As many characters into the line at `start` as the cursor is into its own, or as there are. */
function sameColumn(text: string, cursor: number, start: number): number {
  const end = lineEnd(text, start);
  let place = start;
  for (let at = lineStart(text, cursor); at < cursor && place < end; at = after(text, at))
    place = after(text, place);
  return place;
}

/** Ctrl-W takes everything back to the last blank, as shells do: a path or an address goes as one. */
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
