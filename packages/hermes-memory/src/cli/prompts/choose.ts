// Lets the user choose one of a few rows: with arrow keys on a screen, by number where nothing can be drawn or input is a pipe.
import { Cancelled, type Terminal } from "../command.ts";
import type { OpenScreen, Screen, ScreenEvent, Size } from "../screen.ts";
import { linesOf, lineText } from "../sessions/input-lines.ts";
import { cutToWidth, fitToWidth } from "../sessions/text-layout.ts";

/** The index of the row. Throws `Cancelled`. */
export async function choose(io: Terminal, question: Question): Promise<number> {
  if (io.screen) return onScreen(io.screen, question);
  const { title, labels, preselected } = question;
  io.note(`${title}\n${labels.map((label, index) => `  ${index + 1}. ${label}`).join("\n")}\n`);
  const prompt = `Number (1-${labels.length}, empty for ${preselected + 1}): `;
  return numberOf(io.isInteractive ? await io.ask(prompt) : await pipedLine(io, prompt), question);
}

/** Any other answer means the preselected row. */
function numberOf(answer: string, { labels, preselected }: Question): number {
  const number = /^\d+$/.test(answer.trim()) ? Number(answer.trim()) : 0;
  return number >= 1 && number <= labels.length ? number - 1 : preselected;
}

/** Reads one line; the input is closed afterwards. */
async function pipedLine(io: Terminal, prompt: string): Promise<string> {
  io.note(prompt);
  let answer = "";
  for await (const line of linesOf(io.inputChunks())) {
    answer = lineText(line) ?? "";
    break;
  }
  io.note("\n");
  return answer;
}

async function onScreen(screen: Screen, question: Question): Promise<number> {
  let list = startChoice(question, screen.size());
  const { promise, resolve } = Promise.withResolvers<ChoiceEnd>();
  let opened: OpenScreen | undefined;
  const draw = (): void => opened?.draw(choiceFrame(list));
  const onEvent = (event: ScreenEvent): void => {
    list = stepChoice(list, event);
    if (list.end === undefined) draw();
    else resolve(list.end);
  };
  opened = await screen.open(onEvent);
  try {
    draw();
    const end = await promise;
    if (end.kind === "chosen") return end.index;
    throw new Cancelled(end.kind === "interrupted" ? "interrupt" : "end");
  } finally {
    opened.close();
  }
}

// The list and its keys. Pure.

export type ChoiceList = Size & {
  readonly title: string;
  readonly labels: readonly string[];
  /** The row that Esc and q choose. */
  readonly preselected: number;
  readonly cursor: number;
  /** Index of the first visible row. */
  readonly top: number;
  readonly end?: ChoiceEnd;
};

type ChoiceEnd =
  | { readonly kind: "chosen"; readonly index: number }
  | { readonly kind: "interrupted" }
  /** The terminal was closed. */
  | { readonly kind: "gone" };

type Question = {
  readonly title: string;
  /** At least one. */
  readonly labels: readonly string[];
  readonly preselected: number;
};

/** Lines of the frame that are not rows: the title above, the keys below. */
const FRAME_ROWS = 2;

export function startChoice({ title, labels, preselected }: Question, { columns, rows }: Size): ChoiceList {
  return scrolled({ title, labels, preselected, cursor: preselected, top: 0, columns, rows });
}

export function stepChoice(list: ChoiceList, event: ScreenEvent): ChoiceList {
  if (list.end !== undefined) return list; // keys pressed after the choice
  switch (event.kind) {
    case "end":
      return { ...list, end: { kind: "gone" } };
    case "resize":
      return scrolled({ ...list, columns: event.columns, rows: event.rows });
    case "key":
      return press(list, event);
    default:
      return event satisfies never;
  }
}

function visibleRows({ rows }: Size): number {
  return Math.max(1, rows - FRAME_ROWS);
}

type Key = Extract<ScreenEvent, { kind: "key" }>;

function press(list: ChoiceList, { name, isCtrl }: Key): ChoiceList {
  if (isCtrl) return name === "c" ? { ...list, end: { kind: "interrupted" } } : list;
  switch (name) {
    case "up":
    case "k":
      return moved(list, list.cursor - 1);
    case "down":
    case "j":
      return moved(list, list.cursor + 1);
    case "pageup":
      return moved(list, list.cursor - visibleRows(list));
    case "pagedown":
      return moved(list, list.cursor + visibleRows(list));
    case "home":
      return moved(list, 0);
    case "end":
      return moved(list, list.labels.length - 1);
    case "return":
    case "enter":
    case "space":
      return { ...list, end: { kind: "chosen", index: list.cursor } };
    case "escape":
    case "q":
      return { ...list, end: { kind: "chosen", index: list.preselected } };
    default:
      return list;
  }
}

function moved(list: ChoiceList, cursor: number): ChoiceList {
  return scrolled({ ...list, cursor: Math.min(list.labels.length - 1, Math.max(0, cursor)) });
}

/** Scrolls as little as needed to show the cursor, and leaves no gap below the last row. */
function scrolled(list: ChoiceList): ChoiceList {
  const page = visibleRows(list);
  const lowest = Math.max(0, list.labels.length - page);
  const top = Math.min(list.cursor, Math.max(list.top, list.cursor - page + 1));
  return { ...list, top: Math.min(top, lowest) };
}

// The list as lines, none wider than the terminal

const INVERSE = ["\u001b[7m", "\u001b[27m"] as const;

export function choiceFrame(list: ChoiceList): string[] {
  const width = Math.max(1, list.columns - 1); // the last column would wrap on some terminals
  const rows = list.labels.slice(list.top, list.top + visibleRows(list)).map((label, index) => {
    const isChosen = list.top + index === list.cursor;
    const line = fitToWidth(`${isChosen ? "> " : "  "}${label}`, width);
    return isChosen ? `${INVERSE[0]}${line}${INVERSE[1]}` : line;
  });
  const kept = list.labels[list.preselected] ?? "";
  const keys = `Arrows move, Enter or Space chooses, Esc or q keeps: ${kept}`;
  const lines = [cutToWidth(list.title, width), ...rows, cutToWidth(keys, width)];
  return list.rows < 3 ? lines.slice(1, 1 + Math.max(1, list.rows)) : lines;
}
