#!/usr/bin/env node
// The `hermes` command line. Everything it does is in program.ts; here it only meets the process.
import { systemHomeContext } from "@hermes-memory/core/home";
import { CommandFailure } from "./command.ts";
import { renderFailure } from "./failure.ts";
import { runCommandLine } from "./program.ts";
import { systemTerminal } from "./terminal.ts";

const terminal = systemTerminal();
process.on("SIGINT", terminal.interrupt);
// A reader such as `head` may close the pipe early; that is its right.
process.stdout.on("error", (cause: NodeJS.ErrnoException) => {
  if (cause.code === "EPIPE") process.exit(0);
  process.stderr.write(`error: The output could not be written: ${cause.message}.\n`);
  process.exit(1);
});

// A promise that nothing will ever settle, a plugin's for instance, empties the event loop and would end the command in silence.
const unfinished = (): void => {
  const failure = new CommandFailure(
    "The command stopped before it could report its result: something it waited for never answered.",
    {
      hint: "What it did until then stays done. 'hermes doctor' may tell more.",
      details: { kind: "unfinished" },
    },
  );
  process.exit(renderFailure(failure, process.argv.includes("--json"), terminal));
};
process.on("beforeExit", unfinished);
process.exitCode = await runCommandLine(process.argv.slice(2), terminal, systemHomeContext());
process.off("beforeExit", unfinished);
terminal.reported();
