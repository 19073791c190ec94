// All slash commands of a chat: the table in the order of `/help`, how a typed line finds its command and runs it, completion,
// and the two commands that are about the chat itself, `/help` and `/exit`.
import { nearest } from "@hermes-memory/core/internal/config";
import type { EngineCommand } from "@hermes-memory/core/internal/context";
import type { AgentSurface } from "../agent.ts";
import {
  askFirst,
  type CommandGroup,
  type CommandHost,
  type CommandReply,
  counted,
  failed,
  hasToWait,
  type SlashCommand,
  short,
  splitCommand,
  type TypedCommand,
  thrownReply,
  told,
  usageLine,
  wrongUsage,
} from "./command.ts";
import { CONVERSATION_COMMANDS } from "./conversation-commands.ts";
import { curatorCommand, memoryCommand, skillsCommand } from "./memory-commands.ts";
import { MODEL_COMMANDS } from "./model-commands.ts";
import { chooseFromList, SESSION_COMMANDS } from "./session-commands.ts";

const GROUPS: Readonly<Record<CommandGroup, string>> = {
  session: "Sessions",
  conversation: "Conversation",
  memory: "Memory",
  model: "Model",
  chat: "Chat",
};

const helpCommand: SlashCommand = {
  name: "help",
  group: "chat",
  summary: "list the commands, or explain one",
  usage: "[command]",
  run({ agent, args }) {
    const asked = args.replace(/^\//, "").toLowerCase();
    return asked === "" ? listCommands(agent) : explainCommand(agent, asked);
  },
};

const exitCommand: SlashCommand = {
  name: "exit",
  aliases: ["quit"],
  group: "chat",
  summary: "leave; the conversation is kept unless it is to be deleted",
  usage: "[--delete [now]]",
  words: ["--delete"],
  async run(call) {
    const { agent, args } = call;
    if (args === "") return { kind: "exit", lines: [], json: { session_id: agent.sessionId } };
    if (!/^--delete(?:\s|$)/.test(args)) return undefined;
    const asked = await askFirst(
      call,
      "exit",
      () => `Delete this conversation (${counted(agent.messages.length, "message")}) for good and leave?`,
    );
    if (!asked.isAgreed) return asked.reply;
    if (asked.rest !== "--delete") return undefined;
    return {
      kind: "exit",
      lines: [],
      json: { session_id: agent.sessionId, deleted: true },
      deleteSession: true,
    };
  },
};

/** In the order of `/help`, within each group. */
export const SLASH_COMMANDS: readonly SlashCommand[] = [
  memoryCommand,
  skillsCommand,
  curatorCommand,
  ...SESSION_COMMANDS,
  ...MODEL_COMMANDS,
  ...CONVERSATION_COMMANDS,
  helpCommand,
  exitCommand,
];

/** Names and aliases, without the slash. A context engine's plugin cannot register a command under one of these. */
export const RESERVED_COMMANDS: readonly string[] = SLASH_COMMANDS.flatMap(({ name, aliases = [] }) => [
  name,
  ...aliases,
]);

/**
 * Returns undefined when the line is a message for the model. Pass every line exactly as the user typed it, untrimmed: a blank
 * before the slash makes it a message, and a number alone chooses from the list that `/resume` has just shown. Never rejects.
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

async function runTyped(
  agent: AgentSurface,
  { name, args }: TypedCommand,
  host: CommandHost,
): Promise<CommandReply> {
  const command = findCommand(name);
  if (command !== undefined) {
    const { needsIdle } = command;
    const isChange = needsIdle === "always" || (needsIdle === "with_arguments" && args !== "");
    if (isChange && agent.isRunning) return hasToWait(`'/${name}'`);
    const isFitting = command.usage !== "" || args === "";
    return (isFitting ? await command.run({ agent, host, args }) : undefined) ?? wrongUsage(command);
  }
  const engineCommand = agent.engineCommands.find((each) => each.name === name);
  return engineCommand === undefined ? unknownCommand(agent, name) : runEngineCommand(engineCommand, args);
}

function findCommand(name: string): SlashCommand | undefined {
  return SLASH_COMMANDS.find((command) => command.name === name || command.aliases?.includes(name));
}

/** The user waits for the reply; a plugin that takes longer than this is stuck. */
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
    return failed("engine_command_failed", `'/${name}' (${owner}) failed.`, ...thrownReply(cause).lines);
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

function unknownCommand(agent: AgentSurface, name: string): CommandReply {
  const names = [...RESERVED_COMMANDS, ...agent.engineCommands.map((command) => command.name)];
  const meant = names.find((each) => name.length > 1 && each.startsWith(name)) ?? nearest(name, names);
  const guess = meant === undefined ? "" : ` Did you mean '/${meant}'?`;
  return failed(
    "unknown_command",
    `There is no command '/${short(name, 40)}'.${guess}`,
    "'/help' lists them. To send it as a message, put a blank before the slash.",
  );
}

/**
 * The whole lines that `text` can be completed to, sorted: command names for the first word, fixed words after a name.
 * `engineCommands` are the names of a context engine's commands.
 */
export function completeSlash(text: string, engineCommands: readonly string[] = []): readonly string[] {
  const [, name, word] = /^\/([a-z0-9_-]*)(?:[ ]+(\S*))?$/i.exec(text) ?? [];
  if (name === undefined) return [];
  const typed = name.toLowerCase();
  if (word === undefined) {
    const names = [...RESERVED_COMMANDS, ...engineCommands].filter((each) => each.startsWith(typed));
    return [...new Set(names)].sort().map((each) => `/${each}`);
  }
  const words = findCommand(typed)?.words ?? [];
  return words
    .filter((each) => each.startsWith(word.toLowerCase()))
    .sort()
    .map((each) => `/${typed} ${each}`);
}

// /help

function listCommands({ engineCommands }: AgentSurface): CommandReply {
  const groups = Object.entries(GROUPS).flatMap(([group, title]) => [
    title,
    ...SLASH_COMMANDS.filter((command) => command.group === group).map(listLine),
  ]);
  const engineLines = engineCommands.map((command) => `  ${engineLine(command)}`);
  return told(
    [
      ...groups,
      ...(engineLines.length === 0 ? [] : ["Context engine", ...engineLines]),
      "'/help <command>' shows its arguments. A line that starts with a path, or with a blank before the slash, is sent as a message.",
    ],
    { commands: [...SLASH_COMMANDS.map(commandJson), ...engineCommands.map(engineJson)] },
  );
}

function explainCommand(agent: AgentSurface, name: string): CommandReply {
  const command = findCommand(name);
  if (command !== undefined) {
    const { summary, aliases = [] } = command;
    const others = aliases.map((each) => `/${each}`).join(", ");
    const lines = [usageLine(command), `  ${summary}`, ...(others === "" ? [] : [`  also: ${others}`])];
    return told(lines, commandJson(command));
  }
  const engineCommand = agent.engineCommands.find((each) => each.name === name);
  if (engineCommand !== undefined) return told([engineLine(engineCommand)], engineJson(engineCommand));
  return failed("unknown_command", `There is no command '/${short(name, 40)}'.`, "'/help' lists them.");
}

const NAME_WIDTH = 22;

function listLine({ name, aliases = [], summary }: SlashCommand): string {
  const names = [name, ...aliases].map((each) => `/${each}`).join(", ");
  return `  ${names.padEnd(NAME_WIDTH)}  ${summary}`;
}

function engineLine({ name, argsHint, description }: EngineCommand): string {
  const call = short(`/${name} ${argsHint}`, 60);
  return `${call.padEnd(NAME_WIDTH)}  ${short(description, 120)}`.trimEnd();
}

function commandJson({ name, aliases = [], summary, usage }: SlashCommand): object {
  return { name, aliases, summary, usage };
}

function engineJson({ name, description, argsHint, owner }: EngineCommand): object {
  return { name, aliases: [], summary: description, usage: argsHint, owner };
}
