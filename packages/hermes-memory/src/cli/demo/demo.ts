// `hermes demo`: a home, the scripted server, the tour, and nothing left behind.
import { once } from "node:events";
import { untilStopped } from "../chat/stopping.ts";
import type { CommandBody, CommandContext, CommandOutcome } from "../command.ts";
import { configure, type DemoHome, leaveHome, makeHome } from "./home.ts";
import { closingLine, narrator, OPENING, stepLines } from "./narrate.ts";
import type { Narrator } from "./scene.ts";
import { MODELS, scriptedReply } from "./script.ts";
import { type ScriptedServer, startScriptedServer } from "./server.ts";
import type { Step } from "./step.ts";
import { runTour } from "./tour.ts";

const SILENT: Narrator = { session: () => undefined, said: () => undefined, step: () => undefined };

export const demo: CommandBody = async ({ flags }, context) => {
  const { io, isJson } = context;
  const named = typeof flags.home === "string" ? flags.home : undefined;
  const home = makeHome(named, flags.keep === true);
  try {
    return await untilStopped(io, async (signal): Promise<CommandOutcome> => {
      await using server = await startScriptedServer(scriptedReply, Object.values(MODELS));
      const isQuiet = flags.quiet === true;
      const outcome = await tour(context, { home, server, signal, isQuiet });
      if (flags.serve !== true || signal.aborted) return outcome;
      if (isJson) io.out(`${JSON.stringify(outcome.json, null, 2)}\n`);
      else io.out(`${outcome.lines.join("\n")}\n`);
      await serve(context, { home, server, signal });
      return { json: undefined, lines: [], exitCode: outcome.exitCode ?? 0 };
    });
  } finally {
    leaveHome(home);
  }
};

type Run = { readonly home: DemoHome; readonly server: ScriptedServer; readonly signal: AbortSignal };

async function tour(
  { io, isJson }: CommandContext,
  { home, server, signal, isQuiet }: Run & { readonly isQuiet: boolean },
): Promise<CommandOutcome> {
  const isTold = !isJson && !isQuiet;
  const print = (line: string): void => io.out(`${line}\n`);
  if (isTold) for (const line of OPENING) print(io.paint("dim", line));
  try {
    const narrates = isTold ? narrator(print, io.paint) : SILENT;
    const steps = await runTour({ home: home.path, server, signal, narrator: narrates });
    const seconds = performance.now() / 1000; // since the process began: what a person has waited
    const isOk = steps.every(({ ok }) => ok);
    const failed = isQuiet ? steps.filter(({ ok }) => !ok) : [];
    return {
      json: asJson(steps, { isOk, seconds, home }),
      lines: [
        ...failed.flatMap((step) => stepLines(step, io.paint)),
        ...(isTold ? [""] : []),
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

function asJson(
  steps: readonly Step[],
  { isOk, seconds, home }: { readonly isOk: boolean; readonly seconds: number; readonly home: DemoHome },
): object {
  return {
    ok: isOk,
    model: { name: MODELS.chat, scripted: true },
    duration_ms: Math.round(seconds * 1000),
    home: home.isKept ? home.path : null,
    steps: steps.map(({ lines: _lines, ...data }) => data),
  };
}

/** Until somebody presses Ctrl-C. */
async function serve({ io }: CommandContext, { home, server, signal }: Run): Promise<void> {
  await configure(home.path, server.url, "long");
  io.note(`The scripted server stays up at ${server.url}. In another terminal:\n`);
  io.note(`  HERMES_HOME=${home.path} hermes chat\n`);
  io.note("Ctrl-C ends it.\n");
  if (!signal.aborted) await once(signal, "abort");
}
