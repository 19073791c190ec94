// `hermes memory off`: the built-in memory alone. What the provider has stored and how it was set up stays.
import { configPath } from "@hermes-memory/core/config";
import { deactivate } from "@hermes-memory/core/providers";
import { type CommandBody, type CommandContext, CommandFailure, type CommandOutcome } from "../../command.ts";
import { printable } from "../../printing.ts";
import { activeName } from "./wanted.ts";

export const off: CommandBody = (_input, context) => switchOff(context);

export async function switchOff(context: CommandContext): Promise<CommandOutcome> {
  const before = await activeName(context);
  const change = await deactivate(context.home.home);
  if (!change.ok) {
    const { message, ...details } = change.error;
    throw new CommandFailure(message, { details });
  }
  const again = `'hermes memory setup ${before}' switches it on again; its settings and data are kept.`;
  return {
    json: {
      success: true,
      provider: null,
      previous: before === "" ? null : before,
      changed: change.value.changed,
      path: configPath(context.home.home),
    },
    lines: ["Only the built-in memory is used."],
    notes: before === "" ? [] : [printable(`'${before}' is switched off. ${again}`)],
  };
}
