// The tour as a person reads it: what was said, and below it what each layer did.
import type { Paint } from "../command.ts";
import { printable } from "../printing.ts";
import type { Narrator } from "./scene.ts";
import type { Step } from "./step.ts";

const LAYER_COLUMNS = 19;
const INDENT = " ".repeat(10);
const SPEAKERS = { you: "you", model: "script" } as const; // nobody should take it for a model

export const OPENING: readonly string[] = [
  "Three sessions of the real agent, with real memory files and a real SQLite database.",
  "Only the model is not real: a scripted server on this machine plays it. No network, no key.",
];

export function narrator(print: (line: string) => void, paint: Paint): Narrator {
  return {
    session: (number, about) => {
      print("");
      print(paint("bold", paint("cyan", `Session ${number}: ${about}`)));
    },
    said: (who, text) => print(`  ${paint("dim", SPEAKERS[who].padEnd(6))}  ${printable(text)}`),
    step: (step) => {
      for (const line of stepLines(step, paint)) print(line);
    },
  };
}

export function stepLines(
  { ok, layer, title, lines, checks, problem }: Step,
  paint: Paint,
): readonly string[] {
  const mark = ok ? paint("green", "ok    ") : paint("red", "FAIL  ");
  const untrue = Object.entries(checks).filter(([, isTrue]) => !isTrue);
  return [
    `  ${mark}  ${paint("bold", layer.padEnd(LAYER_COLUMNS))}${printable(title)}`,
    ...lines.map((line) => `${INDENT}${paint("dim", printable(line))}`),
    ...untrue.map(([statement]) => `${INDENT}${paint("red", `not so: ${statement}`)}`),
    ...(problem === null ? [] : [`${INDENT}${paint("red", printable(problem))}`]),
  ];
}

export function closingLine(steps: readonly Step[], seconds: number): string {
  const failed = steps.filter(({ ok }) => !ok).length;
  const time = `${seconds.toFixed(1)} s`;
  if (failed === 0) return `${steps.length} steps, all as they should be, in ${time}.`;
  return `${failed} of ${steps.length} steps failed, in ${time}.`;
}
