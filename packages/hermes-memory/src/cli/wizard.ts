// Questions at the terminal, drawn on stderr by @clack/prompts. This module is loaded with the first question.
import { autocomplete, CANCEL_SYMBOL, password, select, text } from "@clack/prompts";
import { type AskOptions, Cancelled, type Choice } from "./command.ts";
import { printable } from "./printing.ts";

/** A secret is masked while it is typed. Throws `Cancelled`. */
export async function ask(
  message: string,
  { isSecret = false, standard = "", problem }: AskOptions = {},
): Promise<string> {
  const answerOf = (typed: string | undefined): string => typed?.trim() || standard;
  const validate = (typed: string | undefined): string | undefined => problem?.(answerOf(typed));
  const answer = await answered((terminal) =>
    isSecret
      ? password({ message, validate, clearOnError: true, ...terminal })
      : text({ message, validate, placeholder: printable(standard), defaultValue: standard, ...terminal }),
  );
  return answerOf(answer);
}

/** The index of the chosen label. Throws `Cancelled`. */
export function choose({ title, labels, preselected, isFiltered = false }: Choice): Promise<number> {
  const question = {
    message: title,
    options: labels.map((label, value) => ({ label, value })),
    initialValue: preselected,
  };
  return answered((terminal) =>
    isFiltered
      ? autocomplete({ ...question, filter: hasWords, placeholder: "Type to filter", ...terminal })
      : select({ ...question, ...terminal }),
  );
}

/** Every word has to occur, in any order and letter case. */
function hasWords(typed: string, { label = "" }: { readonly label?: string }): boolean {
  const folded = (written: string): string => written.normalize("NFKC").toLowerCase();
  return folded(typed)
    .split(/\s+/)
    .every((word) => folded(label).includes(word));
}

type PromptTerminal = {
  readonly input: typeof process.stdin;
  readonly output: typeof process.stderr;
  readonly signal: AbortSignal;
};

/** Ctrl-C and Esc interrupt the command; Ctrl-D, which clack does not know, ends the input. */
async function answered<T>(
  prompt: (terminal: PromptTerminal) => Promise<T | typeof CANCEL_SYMBOL>,
): Promise<T> {
  const { stdin: input, stderr: output } = process;
  const ended = new AbortController();
  const onKey = (
    _text: unknown,
    { ctrl, name }: { readonly ctrl?: boolean; readonly name?: string },
  ): void => {
    if (ctrl === true && name === "d") ended.abort();
  };
  input.on("keypress", onKey);
  try {
    const answer = await prompt({ input, output, signal: ended.signal });
    if (answer === CANCEL_SYMBOL) throw new Cancelled(ended.signal.aborted ? "end" : "interrupt");
    return answer;
  } finally {
    input.off("keypress", onKey);
  }
}
