// The `hermes` command line. Everything it does is in program.ts; here it only meets the process.
import { systemHomeContext } from "../home.ts";
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

process.exitCode = await runCommandLine(process.argv.slice(2), terminal, systemHomeContext());
