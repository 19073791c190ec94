// A yes-or-no question in the place of the input line. It wants a line and not a key: whoever was typing when it came up
// has not answered it.

import { type Editor, type EditorKey, startEditor, stepEditor, withText } from "./editor/state.ts";
import { safe } from "./safe-text.ts";

export type Answer = "yes" | "no" | "none";

export type Question = { readonly text: string; readonly editor: Editor };

export type QuestionStep = { readonly question: Question; readonly answer?: Answer };

export function startQuestion(text: string): Question {
  return { text: `${safe(text)} [y/N]`, editor: startEditor() };
}

/** `none`: Ctrl-C or Ctrl-D. An answer that is none is asked for again. */
export function stepQuestion(question: Question, key: EditorKey): QuestionStep {
  if (key.kind === "key" && key.name === "return") {
    const answer = question.editor.text.trim().toLowerCase();
    if (answer === "y" || answer === "yes") return { question, answer: "yes" };
    if (answer === "" || answer === "n" || answer === "no") return { question, answer: "no" };
    return { question: { ...question, editor: withText(question.editor, "") } };
  }
  const { editor, wish } = stepEditor(question.editor, key);
  if (wish?.kind === "interrupt" || wish?.kind === "end") return { question, answer: "none" };
  return { question: { ...question, editor } };
}
