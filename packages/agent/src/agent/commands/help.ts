// /help and /exit.
import type { EngineCommand } from "@hermes-memory/core/context";
import type { CommandGroup, SlashCommand } from "./command.ts";
import { askFirst } from "./consent.ts";
import { counted, short } from "./format.ts";
import { failed, told, usageLine, wrongUsage } from "./reply.ts";

const GROUPS: Readonly<Record<CommandGroup, string>> = {
  session: "Sessions",
  conversation: "Conversation",
  memory: "Memory",
  model: "Model",
  chat: "Chat",
};

export const helpCommand: SlashCommand = {
  name: "help",
  group: "chat",
  summary: "list the commands, or explain one",
  usage: "[command]",
  run({ agent, args, commands }) {
    const asked = args.replace(/^\//, "").toLowerCase();
    if (asked !== "") {
      const command = commands.find(({ name, aliases = [] }) => name === asked || aliases.includes(asked));
      const engine = agent.engineCommands.find(({ name }) => name === asked);
      if (command !== undefined) return told(explained(command), toJson(command));
      if (engine !== undefined) return told([engineLine(engine)], engineJson(engine));
      return failed("unknown_command", `There is no command '/${short(asked, 40)}'.`, "'/help' lists them.");
    }
    const groups = Object.entries(GROUPS).flatMap(([group, title]) => [
      title,
      ...commands.filter((command) => command.group === group).map(listed),
    ]);
    const engine = agent.engineCommands;
    return told(
      [
        ...groups,
        ...(engine.length === 0 ? [] : ["Context engine", ...engine.map((each) => `  ${engineLine(each)}`)]),
        "'/help <command>' says what may be typed behind it. A text that begins with a path is a message; so is one with a blank before the slash.",
      ],
      { commands: [...commands.map(toJson), ...engine.map(engineJson)] },
    );
  },
};

export const exitCommand: SlashCommand = {
  name: "exit",
  aliases: ["quit"],
  group: "chat",
  summary: "leave; the conversation is kept unless it is to be deleted",
  usage: "[--delete [now]]",
  words: ["--delete"],
  async run(call) {
    const { agent, args } = call;
    if (args === "") return { kind: "exit", lines: [], json: { session_id: agent.sessionId } };
    if (!/^--delete(?:\s|$)/.test(args)) return wrongUsage(exitCommand);
    const asked = await askFirst(
      call,
      "exit",
      () => `Delete this conversation (${counted(agent.messages.length, "message")}) for good and leave?`,
    );
    if (!asked.isAgreed) return asked.reply;
    if (asked.rest !== "--delete") return wrongUsage(exitCommand);
    return {
      kind: "exit",
      lines: [],
      json: { session_id: agent.sessionId, deleted: true },
      deleteSession: true,
    };
  },
};

const NAME_WIDTH = 22;

function listed({ name, aliases = [], summary }: SlashCommand): string {
  const names = [name, ...aliases].map((each) => `/${each}`).join(", ");
  return `  ${names.padEnd(NAME_WIDTH)}  ${summary}`;
}

function explained(command: SlashCommand): string[] {
  const { summary, aliases = [] } = command;
  const others = aliases.map((each) => `/${each}`).join(", ");
  return [usageLine(command), `  ${summary}`, ...(others === "" ? [] : [`  also: ${others}`])];
}

function engineLine({ name, argsHint, description }: EngineCommand): string {
  const call = short(`/${name} ${argsHint}`, 60);
  return `${call.padEnd(NAME_WIDTH)}  ${short(description, 120)}`.trimEnd();
}

function toJson({ name, aliases = [], summary, usage }: SlashCommand): object {
  return { name, aliases, summary, usage };
}

function engineJson({ name, description, argsHint, owner }: EngineCommand): object {
  return { name, aliases: [], summary: description, usage: argsHint, owner };
}
