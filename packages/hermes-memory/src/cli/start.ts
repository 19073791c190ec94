// The `hermes` command line: connects program.ts with the process.
import { systemHomeContext } from "@hermes-memory/core/internal/home";
import { CommandFailure } from "./command.ts";
import { renderFailure } from "./failure.ts";
import { runCommandLine } from "./program.ts";
import { systemTerminal } from "./terminal.ts";

const terminal = systemTerminal();
process.on("SIGINT", terminal.interrupt);
// A reader such as `head` may close the pipe early, which is no error.
process.stdout.on("error", (cause: NodeJS.ErrnoException) => {
  if (cause.code === "EPIPE") process.exit(0);
  process.stderr.write(`error: The output could not be written: ${cause.message}.\n`);
  process.exit(1);
});

// A promise that never settles, of a plugin for instance, empties the event loop and would end the command without output.
const unfinished = (): void => {
  const failure = new CommandFailure(
    "The command stopped before it could report its result: something it waited for never answered.",
    {
      hint: "What it did until then stays. 'hermes doctor' may tell more.",
      details: { kind: "unfinished" },
    },
  );
  process.exit(renderFailure(failure, process.argv.includes("--json"), terminal));
};
process.on("beforeExit", unfinished);
process.exitCode = await runCommandLine(process.argv.slice(2), terminal, systemHomeContext());
process.off("beforeExit", unfinished);
terminal.reported();
