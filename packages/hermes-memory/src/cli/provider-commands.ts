// Commands of the active provider: one group, under its name. Looked for only when the first word is no command of this program, and
// for `hermes --help`, so other commands do not load it.
import { useEnvFile } from "@hermes-memory/core/internal/config";
import { ifUsable, openHome } from "@hermes-memory/core/internal/memory";
import {
  activeProviderName,
  describeForeign,
  describeProviderCommands,
  isProviderName,
  loadProviderCommands,
} from "@hermes-memory/core/internal/providers";
import { Command } from "commander";
import { CommandFailure, type CommandSpec, type FlagSpec, type Terminal } from "./command.ts";
import { printable } from "./printing.ts";

export type OwnCommandsRequest = {
  readonly home: string;
  /** The first word on the line. */
  readonly asked: string;
  readonly io: Terminal;
  readonly program: Command;
};

/** False when the word is not the provider's name, or when its commands cannot be loaded, which is a warning. */
export async function addOwnCommands({ home, asked, io, program }: OwnCommandsRequest): Promise<boolean> {
  if ((await activeIn(home)) !== asked) {
    await hintAtInactive(home, asked, io);
    return false;
  }
  useEnvFile(home);
  const { command: own, warning } = await loadProviderCommands(home, asked);
  if (warning !== undefined) io.note(`warning: ${printable(warning)}\n`);
  if (own === undefined) return false;
  const command = program.command(own.name).description(printable(own.help));
  const { handler } = own;
  if (handler !== undefined)
    command.action(async () => void (await handler({ args: command.args, ...command.opts() })));
  try {
    own.setup(command);
  } catch (cause) {
    io.note(
      `warning: ${printable(`The commands of '${asked}' are not complete: ${describeForeign(cause)}.`)}\n`,
    );
  }
  return true;
}

/** Beside the error for an unknown command. Runs none of the provider's code. */
async function hintAtInactive(home: string, asked: string, io: Terminal): Promise<void> {
  if (!isProviderName(asked) || (await describeProviderCommands(home, asked)) === undefined) return;
  io.note(
    printable(
      `'${asked}' is not the active provider, so its commands are not there: 'hermes memory setup ${asked}' makes it active.\n`,
    ),
  );
}

/** For `hermes --help`: read from the provider's files. Undefined when it has no commands or config.yaml is unreadable. */
export async function ownCommandsLine(
  home: string,
): Promise<{ readonly name: string; readonly help: string } | undefined> {
  const name = await activeIn(home);
  const own = name === "" ? undefined : await describeProviderCommands(home, name);
  return own && { name: own.name, help: printable(own.help) };
}

/** For `hermes completion`: the commands of the active provider as those of the program are declared. Empty when it has none. */
export async function ownCommandSpecs(home: string, io: Terminal): Promise<Omit<CommandSpec, "load">[]> {
  const asked = await activeIn(home);
  const program = new Command();
  if (asked === "" || !(await addOwnCommands({ home, asked, io, program }))) return [];
  return program.commands.flatMap((command) => specsOf(command, []));
}

function specsOf(command: Command, above: readonly string[]): Omit<CommandSpec, "load">[] {
  const words = [...above, command.name()];
  const flags = command.options.map((option): [string, FlagSpec] => [
    (option.long ?? option.short ?? "").replace(/^-+/, ""),
    {
      kind: option.isBoolean() ? "boolean" : "text",
      summary: printable(option.description),
      ...(option.long && option.short ? { short: option.short.slice(1) } : {}),
      ...(option.argChoices ? { choices: option.argChoices } : {}),
    },
  ]);
  const spec = {
    name: words.join(" "),
    summary: printable(command.description()),
    flags: Object.fromEntries(flags),
  };
  return [spec, ...command.commands.flatMap((child) => specsOf(child, words))];
}

/** "" when no provider is active, or config.yaml cannot be read. */
async function activeIn(home: string): Promise<string> {
  const config = await ifUsable(openHome({ home }).memoryConfig());
  return config === undefined ? "" : activeProviderName(config.provider);
}

/** For an error that the plugin's code threw. */
export function ownCommandFailure(name: string, cause: unknown): CommandFailure {
  return new CommandFailure(`The command of the provider '${name}' failed: ${describeForeign(cause)}.`, {
    details: { kind: "provider-command", provider: name },
  });
}
