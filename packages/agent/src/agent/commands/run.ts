// Runs the slash command in a line, when there is one.
import type { EngineCommand } from "@hermes-memory/core/context";
import type { AgentSurface } from "../surface.ts";
import type { CommandHost, CommandReply } from "./command.ts";
import { short } from "./format.ts";
import { splitCommand, type TypedCommand } from "./parse.ts";
import { findCommand, nearestCommand, SLASH_COMMANDS } from "./registry.ts";
import { failed, hasToWait, thrownReply, told } from "./reply.ts";
import { chooseFromList } from "./resume.ts";

/**
 * Undefined: the line is a message for the model. Give it every line as it was typed, not trimmed: a blank before the slash makes
 * a message of it, and a number alone chooses from the list that `/resume` has shown just before. Never rejects.
 */
export async function runSlashCommand(
  agent: AgentSurface,
  line: string,
  host: CommandHost,
): Promise<CommandReply | undefined> {
  try {
    const chosen = await chooseFromList(agent, line);
    if (chosen !== undefined) return chosen;
    const typed = splitCommand(line);
    return typed === undefined ? undefined : await runTyped(agent, typed, host);
  } catch (cause) {
    return thrownReply(cause);
  }
}

async function runTyped(agent: AgentSurface, typed: TypedCommand, host: CommandHost): Promise<CommandReply> {
  const command = findCommand(typed.name);
  if (command !== undefined) {
    const changes =
      command.needsIdle === "always" || (command.needsIdle === "with_arguments" && typed.args !== "");
    if (changes && agent.isRunning) return hasToWait(`'/${typed.name}'`);
    return command.run({ agent, host, args: typed.args, commands: SLASH_COMMANDS });
  }
  const engine = agent.engineCommands.find(({ name }) => name === typed.name);
  return engine === undefined ? unknown(agent, typed.name) : runEngineCommand(engine, typed.args);
}

/** Somebody waits in front of the screen; a plugin that takes longer has got stuck. */
const ENGINE_DEADLINE_MS = 60_000;

async function runEngineCommand(command: EngineCommand, args: string): Promise<CommandReply> {
  const { name, owner } = command;
  const deadline = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => deadline.reject(new Error(`no answer within ${ENGINE_DEADLINE_MS / 1000} seconds`)),
    ENGINE_DEADLINE_MS,
  );
  try {
    const answer: unknown = await Promise.race([command.handler(args), deadline.promise]);
    const text = typeof answer === "string" ? answer : answer == null ? "" : asJson(answer);
    return told(text === "" ? ["Done."] : text.split("\n"), { command: name, owner, result: answer ?? null });
  } catch (cause) {
    const { lines } = thrownReply(cause);
    return failed("engine_command_failed", `'/${name}' (${owner}) failed.`, ...lines);
  } finally {
    clearTimeout(timer);
  }
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? String(value);
  } catch {
    return String(value);
  }
}

function unknown(agent: AgentSurface, name: string): CommandReply {
  const others = agent.engineCommands.map((command) => command.name);
  const meant = nearestCommand(name, others);
  const guess = meant === undefined ? "" : ` Did you mean '/${meant}'?`;
  return failed(
    "unknown_command",
    `There is no command '/${short(name, 40)}'.${guess}`,
    "'/help' lists them. To send it as a message, put a blank before the slash.",
  );
}
