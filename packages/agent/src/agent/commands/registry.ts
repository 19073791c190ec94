// Every slash command of ours, in the order of `/help`, and how names are found and completed.
import { nearest } from "@hermes-memory/core/config";
import { busyCommand, queueCommand, steerCommand } from "./busy.ts";
import type { SlashCommand } from "./command.ts";
import { compressCommand } from "./compress.ts";
import { curatorCommand } from "./curator.ts";
import { exitCommand, helpCommand } from "./help.ts";
import { historyCommand, saveCommand } from "./history.ts";
import { memoryCommand } from "./memory/memory.ts";
import { modelCommand, providerCommand } from "./model.ts";
import { branchCommand, clearCommand, newCommand, titleCommand } from "./new-session.ts";
import { resumeCommand, sessionsCommand } from "./resume.ts";
import { searchCommand } from "./search.ts";
import { skillsCommand } from "./skills.ts";
import { retryCommand, undoCommand } from "./undo.ts";
import { promptCommand, statusCommand, usageCommand } from "./usage.ts";

export const SLASH_COMMANDS: readonly SlashCommand[] = [
  newCommand,
  clearCommand,
  resumeCommand,
  sessionsCommand,
  branchCommand,
  titleCommand,
  statusCommand,
  undoCommand,
  retryCommand,
  compressCommand,
  queueCommand,
  steerCommand,
  historyCommand,
  saveCommand,
  memoryCommand,
  skillsCommand,
  curatorCommand,
  searchCommand,
  modelCommand,
  providerCommand,
  usageCommand,
  promptCommand,
  busyCommand,
  helpCommand,
  exitCommand,
];

/** Names and aliases, without the slash: an engine's plugin cannot have them. */
export const RESERVED_COMMANDS: readonly string[] = SLASH_COMMANDS.flatMap(({ name, aliases = [] }) => [
  name,
  ...aliases,
]);

export function findCommand(name: string): SlashCommand | undefined {
  return SLASH_COMMANDS.find((command) => command.name === name || command.aliases?.includes(name));
}

/** What was probably meant: a name that begins like it, else the nearest one. `others` are names of engine commands. */
export function nearestCommand(name: string, others: readonly string[] = []): string | undefined {
  const names = [...RESERVED_COMMANDS, ...others];
  return names.find((each) => name.length > 1 && each.startsWith(name)) ?? nearest(name, names);
}

/**
 * Whole lines that `text` may become: names for the first word, fixed words behind a name. Sorted; empty when there is nothing
 * to offer. `others` are names of engine commands.
 */
export function completeSlash(text: string, others: readonly string[] = []): readonly string[] {
  const [, name, word] = /^\/([a-z0-9_-]*)(?:[ ]+(\S*))?$/i.exec(text) ?? [];
  if (name === undefined) return [];
  const typed = name.toLowerCase();
  if (word === undefined) {
    const names = [...RESERVED_COMMANDS, ...others].filter((each) => each.startsWith(typed));
    return [...new Set(names)].sort().map((each) => `/${each}`);
  }
  const words = findCommand(typed)?.words ?? [];
  return words
    .filter((each) => each.startsWith(word.toLowerCase()))
    .sort()
    .map((each) => `/${typed} ${each}`);
}
