// Tab: what is written of a slash command is filled up as far as it is certain.
import type { Editor } from "./state.ts";

export type Completion = {
  readonly editor: Editor;
  /** What it could become, where there is more than one way; for a person to look at. */
  readonly choices: readonly string[];
};

/** `complete` gets what is written, slash included, and answers with whole texts that begin with it. */
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
