// What was typed behind `hermes chat`, as what is wanted.
import type { AgentOptions } from "@hermes-memory/agent/agent";
import { CommandFailure, type CommandInput } from "../command.ts";

export type ChatWish = {
  readonly query: string | undefined;
  readonly isQuiet: boolean;
  readonly agent: Pick<
    AgentOptions,
    "selection" | "resume" | "continueLast" | "toolsets" | "maxTurns" | "systemMessage" | "skipMemory"
  >;
};

export function chatWish({ flags }: CommandInput): ChatWish {
  const text = (name: string): string | undefined => {
    const value = flags[name];
    return typeof value === "string" ? value : undefined;
  };
  const resume = text("resume");
  if (resume !== undefined && flags.continue === true)
    throw usage("--resume names a session and --continue takes the newest one. Give one of them.");
  if (resume?.trim() === "")
    throw usage("--resume needs a session: its id or its title. 'hermes sessions list' shows them.");
  const toolsets = text("toolsets");
  const maxTurns = flags["max-turns"];
  const system = text("system");
  return {
    query: text("query"),
    isQuiet: flags.quiet === true,
    agent: {
      selection: { model: text("model"), provider: text("provider"), baseUrl: text("base-url") },
      ...(resume === undefined ? {} : { resume }),
      ...(flags.continue === true ? { continueLast: true } : {}),
      ...(toolsets === undefined ? {} : { toolsets: namesIn(toolsets) }),
      ...(typeof maxTurns === "number" ? { maxTurns } : {}),
      ...(system === undefined ? {} : { systemMessage: system }),
      ...(flags["no-memory"] === true ? { skipMemory: true } : {}),
    },
  };
}

function namesIn(list: string): string[] {
  const names = list.split(",").map((name) => name.trim());
  return names.filter((name) => name !== "" && name !== "none");
}

function usage(message: string): CommandFailure {
  return new CommandFailure(message, { exitCode: 2, details: { kind: "usage" } });
}
