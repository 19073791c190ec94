// `hermes demo`: runs the tour (../tour) in a separate home and prints it.
import { once } from "node:events";
import type { HistoryLine } from "@hermes-memory/core/internal/curated";
import { openHome } from "@hermes-memory/core/internal/memory";
import {
  configure,
  type MemoryCommands,
  MODELS,
  makeTourHome,
  type Narrator,
  removeTourHome,
  runTour,
  type ScriptedServer,
  type Step,
  scriptedReply,
  startScriptedServer,
  type TourHome,
} from "../tour/index.ts";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandOutcome,
  type Paint,
  type Terminal,
} from "./command.ts";
import { history, undo } from "./memory/history.ts";
import { printable } from "./printing.ts";
import { untilStopped } from "./until-stopped.ts";

type Run = { readonly home: TourHome; readonly server: ScriptedServer; readonly signal: AbortSignal };

export const demo: CommandBody = async ({ flags }, context) => {
  const { io, isJson } = context;
  const made = makeTourHome(typeof flags.home === "string" ? flags.home : undefined, flags.keep === true);
  if (!made.ok)
    throw new CommandFailure(`${made.error.path} is not empty, and the demo writes its own config.yaml.`, {
      exitCode: 2,
      hint: "Name a directory that is empty or does not exist yet, or leave --home out.",
      details: { kind: "not_empty" },
    });
  const home = made.value;
  try {
    return await untilStopped(io, async (signal): Promise<CommandOutcome> => {
      await using server = await startScriptedServer(scriptedReply, Object.values(MODELS));
      const outcome = await tour(context, { home, server, signal }, flags.quiet === true);
      if (flags.serve !== true || signal.aborted) return outcome;
      if (isJson) io.out(`${JSON.stringify(outcome.json, null, 2)}\n`);
      else io.out(`${outcome.lines.join("\n")}\n`);
      await serve(io, { home, server, signal });
      return { json: undefined, lines: [], exitCode: outcome.exitCode };
    });
  } finally {
    removeTourHome(home);
  }
};

async function tour({ io, isJson }: CommandContext, run: Run, isQuiet: boolean): Promise<CommandOutcome> {
  const { home, server, signal } = run;
  const isNarrated = !isJson && !isQuiet;
  const print = (line: string): void => io.out(`${line}\n`);
  if (isNarrated) for (const line of OPENING) print(io.paint("dim", line));
  try {
    const steps = await runTour({
      home: home.path,
      server,
      signal,
      narrator: isNarrated ? printingNarrator(print, io.paint) : SILENT_NARRATOR,
      memoryCommands: memoryCommandsIn(home.path),
    });
    const seconds = performance.now() / 1000; // since the process began: the time the user has waited
    const isOk = steps.every(({ ok }) => ok);
    const failed = isQuiet ? steps.filter(({ ok }) => !ok) : [];
    return {
      json: {
        ok: isOk,
        model: { name: MODELS.chat, scripted: true },
        duration_ms: Math.round(seconds * 1000),
        home: home.isKept ? home.path : null,
        steps: steps.map(({ lines: _lines, ...data }) => data),
      },
      lines: [
        ...failed.flatMap((step) => stepLines(step, io.paint)),
        ...(isNarrated ? [""] : []),
        io.paint(isOk ? "green" : "red", closingLine(steps, seconds)),
        ...(home.isKept
          ? [`Look around with HERMES_HOME=${home.path}: hermes memory history, hermes sessions list.`]
          : []),
      ],
      exitCode: isOk ? 0 : 1,
    };
  } catch (cause) {
    if (!signal.aborted) throw cause;
    return { json: undefined, lines: [], notes: ["Stopped."], exitCode: 130 };
  }
}

/** Keeps the scripted server up until the user presses Ctrl-C. */
async function serve(io: Terminal, { home, server, signal }: Run): Promise<void> {
  await configure(home.path, server.url, "long");
  io.note(`The scripted server stays up at ${server.url}. In another terminal:\n`);
  io.note(`  HERMES_HOME=${home.path} hermes chat\n`);
  io.note("Ctrl-C ends it.\n");
  if (!signal.aborted) await once(signal, "abort");
}

// The tour as text: what the user and the script said, and below it what each layer did.

const LAYER_COLUMNS = 19;
const INDENT = " ".repeat(10);
const SPEAKERS = { you: "you", model: "script" } as const; // so that no reader takes it for a model

const OPENING: readonly string[] = [
  "Three sessions of the real agent, with real memory files and a real SQLite database.",
  "Only the model is not real: a scripted server on this machine plays it. No network, no key.",
];

const SILENT_NARRATOR: Narrator = {
  session: () => undefined,
  said: () => undefined,
  step: () => undefined,
};

function printingNarrator(print: (line: string) => void, paint: Paint): Narrator {
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

function stepLines({ ok, layer, title, lines, checks, problem }: Step, paint: Paint): readonly string[] {
  const mark = ok ? paint("green", "ok    ") : paint("red", "FAIL  ");
  const untrue = Object.entries(checks).filter(([, isTrue]) => !isTrue);
  return [
    `  ${mark}  ${paint("bold", layer.padEnd(LAYER_COLUMNS))}${printable(title)}`,
    ...lines.map((line) => `${INDENT}${paint("dim", printable(line))}`),
    ...untrue.map(([statement]) => `${INDENT}${paint("red", `not so: ${statement}`)}`),
    ...(problem === null ? [] : [`${INDENT}${paint("red", printable(problem))}`]),
  ];
}

function closingLine(steps: readonly Step[], seconds: number): string {
  const failed = steps.filter(({ ok }) => !ok).length;
  const time = `${seconds.toFixed(1)} s`;
  if (failed === 0) return `${steps.length} steps, all as they should be, in ${time}.`;
  return `${failed} of ${steps.length} steps failed, in ${time}.`;
}

/** `hermes memory history` and `hermes memory undo`, run in this home: the tour shows the commands themselves. */
export function memoryCommandsIn(home: string): MemoryCommands {
  const run = async (body: CommandBody, args: Readonly<Record<string, string>> = {}) => {
    await using memory = openHome({ home, env: {} });
    const selected = { home, root: home, profile: "default" };
    return await body(
      { args, rest: [], flags: {} },
      { home: selected, isJson: true, io: NO_TERMINAL, memory, groups: [], runCommand: async () => 1 },
    );
  };
  return {
    history: async () => (await run(history)).json as readonly HistoryLine[],
    undo: async (id) => (await run(undo, { id })).lines,
  };
}

/** Prints nothing and answers no question. */
const NO_TERMINAL: Terminal = {
  env: {},
  isInteractive: false,
  isOutTerminal: false,
  paint: (_style, text) => text,
  noteColumns: undefined,
  screen: undefined,
  out: () => undefined,
  note: () => undefined,
  drained: async () => undefined,
  readInput: async () => "",
  inputChunks: async function* () {},
  confirm: async () => false,
  ask: async () => "",
  endWithoutWaiting: () => undefined,
  untilInterrupted: (work) => work(new AbortController().signal),
};
