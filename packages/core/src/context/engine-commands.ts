// Slash commands that an engine of a plugin brings along.
import { err, ok, preview, pyStrip, type Result } from "../lib/index.ts";

export type EngineCommand = {
  /** Without the slash. */
  readonly name: string;
  readonly description: string;
  /** What may be typed behind it. */
  readonly argsHint: string;
  /** `context-engine:<engine>`. */
  readonly owner: string;
  /** Gets the text behind the command; what it returns is shown. May throw. */
  readonly handler: (args: string) => unknown;
};

export type CommandRules = {
  readonly owner: string;
  readonly reserved: readonly string[];
  readonly taken: readonly EngineCommand[];
};

/** From the arguments of `registerCommand(name, handler, description, argsHint)`. */
export function takeCommand(args: readonly unknown[], rules: CommandRules): Result<EngineCommand, string> {
  const [given, handler, description, argsHint] = args;
  const name = commandName(given);
  const shown = `The command '/${preview(name, 40)}'`;
  if (name === "") return err("A command without a name was refused.");
  if (typeof handler !== "function") return err(`${shown} was refused: it has no handler.`);
  const isTaken = rules.reserved.includes(name) || rules.taken.some((command) => command.name === name);
  if (isTaken) return err(`${shown} was refused: there is one of that name already.`);
  return ok({
    name,
    description: text(description),
    argsHint: text(argsHint),
    owner: `context-engine:${rules.owner}`,
    handler: (rest) => (handler as (args: string) => unknown)(rest),
  });
}

function commandName(given: unknown): string {
  return pyStrip(pyStrip(text(given)).replace(/^\/+/, ""))
    .toLowerCase()
    .replaceAll(" ", "-");
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
