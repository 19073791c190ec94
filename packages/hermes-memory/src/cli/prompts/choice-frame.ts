// The list as lines of a terminal, none of them wider than it.
import { cutToWidth, fitToWidth } from "../sessions/text-layout.ts";
import { type ChoiceList, visibleRows } from "./choice.ts";

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
