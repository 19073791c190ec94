// Lets a person choose a row: on a screen, by number where nothing can be drawn, by a number from a pipe.
import { Cancelled, type Terminal } from "../command.ts";
import type { OpenScreen, Screen, ScreenEvent } from "../screen.ts";
import { linesOf, lineText } from "../sessions/input-lines.ts";
import { type ChoiceEnd, type Question, startChoice, stepChoice } from "./choice.ts";
import { choiceFrame } from "./choice-frame.ts";

/** The index of the row. Throws `Cancelled`. */
export async function choose(io: Terminal, question: Question): Promise<number> {
  if (io.screen) return onScreen(io.screen, question);
  const { title, labels, preselected } = question;
  io.note(`${title}\n${labels.map((label, index) => `  ${index + 1}. ${label}`).join("\n")}\n`);
  const prompt = `Number (1-${labels.length}, empty for ${preselected + 1}): `;
  return numberOf(io.isInteractive ? await io.ask(prompt) : await pipedLine(io, prompt), question);
}

/** Whatever is no number of a row means the preselected one. */
function numberOf(answer: string, { labels, preselected }: Question): number {
  const number = /^\d+$/.test(answer.trim()) ? Number(answer.trim()) : 0;
  return number >= 1 && number <= labels.length ? number - 1 : preselected;
}

/** Leaves the input closed: one line is all a pipe is asked for. */
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
