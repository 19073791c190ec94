// What is below the conversation: choices of a completion, a question or what runs now, and the input line.
import { busyRow } from "./busy-line.ts";
import { inputFooter } from "./editor/layout.ts";
import type { Editor } from "./editor/state.ts";
import { safe } from "./safe-text.ts";
import type { Footer } from "./view/live-view.ts";
import { type Row, rowsOfLine } from "./view/span.ts";

export type FooterParts = {
  readonly columns: number;
  readonly editor: Editor;
  readonly choices: readonly string[];
  readonly question: string | undefined;
  readonly busy: { readonly activity: string; readonly elapsedMs: number } | undefined;
};

export function chatFooter({ columns, editor, choices, question, busy }: FooterParts): Footer {
  const above: Row[] = choices.length > 0 ? wrapped(safe(choices.join("  ")), columns) : [];
  if (question !== undefined) above.push(...wrapped(question, columns));
  else if (busy) above.push(busyRow(busy.activity, busy.elapsedMs, columns));
  const { rows, cursor } = inputFooter(editor, { columns, markStyle: busy ? "dim" : "cyan" });
  return { rows: [...above, ...rows], cursor: { ...cursor, row: cursor.row + above.length } };
}

function wrapped(text: string, columns: number): Row[] {
  return text
    .split("\n")
    .flatMap((line) => rowsOfLine([{ text: line.replaceAll("\t", " ") }], Math.max(1, columns - 1)));
}
