// The rows below the conversation: completion choices, a question or the running activity, and the input line.
import type { AgentEvent } from "@hermes-memory/agent/internal/agent";
import type { Style } from "../command.ts";
import { cutToWidth, displayWidth, graphemesOf, oneLine, printable } from "../printing.ts";
import type { Editor } from "./editor.ts";
import { type Footer, type Row, rowsOfLine, type Span } from "./live-view.ts";
import { duration, safe } from "./transcript.ts";

type FooterParts = {
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

const INPUT_MARK = "> ";
const INPUT_TAB = "    ";
const PLAIN_LINE = /^[\x20-\x7e]*$/;

type InputLook = { readonly columns: number; readonly markStyle?: Style | undefined };

export function inputFooter({ text, cursor }: Editor, { columns, markStyle }: InputLook): Footer {
  const room = Math.max(2, columns - INPUT_MARK.length - 1); // the last column is for the cursor after a full row
  const rows: string[] = [];
  let place = { row: 0, column: 0 };
  let start = 0;
  for (const line of text.split("\n")) {
    const broken = brokenLine(line, cursor - start, room);
    if (broken.cursor !== undefined)
      place = { row: rows.length + broken.cursor.row, column: INPUT_MARK.length + broken.cursor.column };
    rows.push(...broken.rows);
    start += line.length + 1;
  }
  const marked = rows.map((row, index): Row => {
    const mark: Span =
      index === 0 ? { text: INPUT_MARK, style: markStyle } : { text: " ".repeat(INPUT_MARK.length) };
    return [mark, { text: row }];
  });
  return { rows: marked, cursor: place };
}

type Broken = {
  readonly rows: readonly string[];
  readonly cursor?: { readonly row: number; readonly column: number };
};

/** `cursor` is an offset in the line, and may be outside of it. */
function brokenLine(line: string, cursor: number, room: number): Broken {
  if (PLAIN_LINE.test(line)) return brokenPlain(line, cursor, room);
  const rows = [""];
  let used = 0;
  let index = 0;
  let place: Broken["cursor"];
  for (const grapheme of graphemesOf(line)) {
    const shown = grapheme === "\t" ? INPUT_TAB : printable(grapheme);
    const width = displayWidth(shown);
    if (used + width > room && used > 0) {
      rows.push("");
      used = 0;
    }
    if (index === cursor) place = { row: rows.length - 1, column: used };
    rows[rows.length - 1] += shown;
    used += width;
    index += grapheme.length;
  }
  if (index === cursor) place = { row: rows.length - 1, column: used };
  return { rows, cursor: place };
}

function brokenPlain(line: string, cursor: number, room: number): Broken {
  const rows = [line.slice(0, room)];
  for (let at = room; at < line.length; at += room) rows.push(line.slice(at, at + room));
  if (cursor < 0 || cursor > line.length) return { rows };
  const row = cursor === line.length ? rows.length - 1 : Math.floor(cursor / room);
  return { rows, cursor: { row, column: cursor - row * room } };
}

// The row above the input while something runs.

export const WAITING = "waiting for the model";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Shorter times are not shown. */
const SHOWN_FROM_MS = 2000;

/** The activity that runs after this event; undefined when the event does not change it. */
export function activityOf(event: AgentEvent): string | undefined {
  switch (event.type) {
    case "turn-start":
    case "text-discard":
    case "tool-end":
    case "compaction-end":
      return WAITING;
    case "reasoning-delta":
      return "thinking";
    case "text-delta":
      return "answering";
    case "tool-start":
      return `running ${oneLine(event.name)}`;
    case "retry":
      return "waiting before the next attempt";
    case "compaction-start":
      return "compacting the conversation";
    default:
      return undefined;
  }
}

function busyRow(activity: string, elapsedMs: number, columns: number): Row {
  const frame = FRAMES[Math.floor(elapsedMs / FRAME_MS) % FRAMES.length] ?? "";
  const seconds = duration(Math.floor(elapsedMs / 1000) * 1000);
  const time = elapsedMs < SHOWN_FROM_MS ? "" : `, ${seconds.replace(".0 s", " s")}`;
  return [{ text: cutToWidth(`${frame} ${activity}${time} (Ctrl-C stops it)`, columns - 1), style: "dim" }];
}
