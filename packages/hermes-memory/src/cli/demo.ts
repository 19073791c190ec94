// `hermes demo`: runs the steps of ../demo in a separate home and prints them.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type DemoEvent, type DemoStep, demoSteps, SCRIPTED_MODEL } from "../demo/index.ts";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandOutcome,
  type Paint,
} from "./command.ts";
import { printable } from "./printing.ts";
import { untilStopped } from "./until-stopped.ts";

const LAYER_COLUMNS = 19;
const INDENT = " ".repeat(10);

export const demo: CommandBody = async ({ flags }, { io, isJson }) => {
  const named = typeof flags.home === "string" ? resolve(flags.home) : undefined;
  if (named !== undefined && existsSync(named) && readdirSync(named).length > 0)
    throw new CommandFailure(`${named} is not empty, and the demo writes its own config.yaml.`, {
      exitCode: 2,
      hint: "Name a directory that is empty or does not exist yet, or leave --home out.",
      details: { kind: "not_empty" },
    });
  if (named !== undefined) mkdirSync(named, { recursive: true, mode: 0o700 });
  const home = named ?? mkdtempSync(join(tmpdir(), "hermes-demo-"));
  const isKept = named !== undefined || flags.keep === true;
  try {
    return await untilStopped(io, (signal) => told(home, isKept, signal, { io, isJson }));
  } finally {
    if (!isKept) rmSync(home, { recursive: true, force: true });
  }
};

async function told(
  home: string,
  isKept: boolean,
  signal: AbortSignal,
  { io, isJson }: Pick<CommandContext, "io" | "isJson">,
): Promise<CommandOutcome> {
  const print = (lines: readonly string[]): void => {
    if (!isJson) io.out(`${lines.join("\n")}\n`);
  };
  print([
    io.paint("dim", "Two sessions of the real agent, with real memory files and a real SQLite database."),
    io.paint("dim", "Only the model is not real: a script plays it. No network, no key."),
  ]);
  const steps: DemoStep[] = [];
  for await (const event of demoSteps(home)) {
    if (signal.aborted) return { json: undefined, lines: [], notes: ["Stopped."], exitCode: 130 };
    print(linesOf(event, io.paint));
    if (event.kind === "step") steps.push(event.step);
  }
  const seconds = performance.now() / 1000; // since the process began: the time the user has waited
  const failed = steps.filter((step) => !isOk(step)).length;
  const outcome =
    failed === 0
      ? io.paint("green", `${steps.length} steps, all as they should be, in ${seconds.toFixed(1)} s.`)
      : io.paint("red", `${failed} of ${steps.length} steps failed, in ${seconds.toFixed(1)} s.`);
  return {
    json: {
      ok: failed === 0,
      model: { name: SCRIPTED_MODEL, scripted: true },
      duration_ms: Math.round(seconds * 1000),
      home: isKept ? home : null,
      steps: steps.map((step) => ({ ...step, ok: isOk(step) })),
    },
    lines: [
      "",
      outcome,
      ...(isKept
        ? [`Look around with HERMES_HOME=${home}: hermes memory history, hermes sessions list.`]
        : []),
    ],
    exitCode: failed === 0 ? 0 : 1,
  };
}

function linesOf(event: DemoEvent, paint: Paint): readonly string[] {
  if (event.kind === "session") return ["", paint("bold", paint("cyan", event.title))];
  if (event.kind === "said") return [`  ${paint("dim", event.who.padEnd(6))}  ${printable(event.text)}`];
  const { layer, title, lines, checks } = event.step;
  const mark = isOk(event.step) ? paint("green", "ok    ") : paint("red", "FAIL  ");
  const untrue = Object.keys(checks).filter((statement) => !checks[statement]);
  return [
    `  ${mark}  ${paint("bold", layer.padEnd(LAYER_COLUMNS))}${title}`,
    ...lines.map((line) => `${INDENT}${paint("dim", printable(line))}`),
    ...untrue.map((statement) => `${INDENT}${paint("red", `not so: ${statement}`)}`),
  ];
}

function isOk({ checks }: DemoStep): boolean {
  return Object.values(checks).every(Boolean);
}
