// Lets the user choose one of a few rows: with arrow keys on a screen, by number where nothing can be drawn or input is a pipe.
import { Cancelled, type Terminal } from "../command.ts";
import type { Screen, ScreenEvent, Size } from "../screen.ts";
import { linesOf, lineText } from "../sessions/input-lines.ts";
import {
  cursorAfter,
  listFrame,
  runOnScreen,
  type ScrollingList,
  visibleRows,
  withCursor,
} from "./scrolling-list.ts";

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
  const start = startChoice(question, screen.size());
  const end = await runOnScreen(screen, start, { step: stepChoice, frame: choiceFrame });
  if (end.kind === "chosen") return end.index;
  throw new Cancelled(end.kind === "interrupted" ? "interrupt" : "end");
}

// The list and its keys. Pure.

export type ChoiceList = ScrollingList & {
  readonly title: string;
  readonly labels: readonly string[];
  /** The row that Esc and q choose. */
  readonly preselected: number;
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

export function startChoice({ title, labels, preselected }: Question, { columns, rows }: Size): ChoiceList {
  return moved({ title, labels, preselected, cursor: 0, top: 0, columns, rows }, preselected);
}

export function stepChoice(list: ChoiceList, event: ScreenEvent): ChoiceList {
  if (list.end !== undefined) return list; // keys pressed after the choice
  switch (event.kind) {
    case "end":
      return { ...list, end: { kind: "gone" } };
    case "resize":
      return moved({ ...list, columns: event.columns, rows: event.rows }, list.cursor);
    case "key":
      return press(list, event);
    default:
      return event satisfies never;
  }
}

type Key = Extract<ScreenEvent, { kind: "key" }>;

const VI_KEYS: Readonly<Record<string, string>> = { k: "up", j: "down" };

function press(list: ChoiceList, { name, isCtrl }: Key): ChoiceList {
  if (isCtrl) return name === "c" ? { ...list, end: { kind: "interrupted" } } : list;
  const cursor = cursorAfter(VI_KEYS[name ?? ""] ?? name, list, list.labels.length);
  if (cursor !== undefined) return moved(list, cursor);
  switch (name) {
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
  return withCursor(list, list.labels.length, cursor);
}

export function choiceFrame(list: ChoiceList): string[] {
  return listFrame(list, {
    head: list.title,
    rows: list.labels.slice(list.top, list.top + visibleRows(list)),
    keys: `Arrows move, Enter or Space chooses, Esc or q keeps: ${list.labels[list.preselected] ?? ""}`,
  });
}
