// What every memory command starts with: the store of the chosen home, set up from its config, and its arguments.
import { resolve } from "node:path";
import { MEMORY_TARGETS, type MemoryStore, type MemoryTarget } from "@hermes-memory/core/curated";
import { pendingWritesDirectory } from "@hermes-memory/core/home";
import { describeCause, normalizeNewlines, pyStrip } from "@hermes-memory/core/lib";
import { type CommandContext, CommandFailure, type CommandInput } from "../command.ts";

/** The files of the home's owner, or those in the directory that --dir names. */
export function openStore(input: CommandInput, context: CommandContext): Promise<MemoryStore> {
  const allowSecrets = input.flags["allow-secret"] === true;
  return context.memory.owner.curatedIn(memoryDirectory(input, context), { allowSecrets });
}

export function memoryDirectory(
  { flags: { dir } }: Pick<CommandInput, "flags">,
  { memory }: CommandContext,
): string {
  return typeof dir === "string" ? resolve(dir) : memory.owner.directory;
}

/**
 * Staged writes belong to a home, or to one of its users. Any other directory named with --dir has none, and the home's are left
 * alone.
 */
export function stagedWritesOf(input: CommandInput, context: CommandContext): { pendingDirectory?: string } {
  const { home, owner } = context.memory;
  if (input.flags.dir === undefined) return { pendingDirectory: owner.pendingDirectory };
  const own = pendingWritesDirectory(home, memoryDirectory(input, context));
  return own === owner.pendingDirectory ? {} : { pendingDirectory: own };
}

/** The target a write goes to. */
export function targetFlag(input: CommandInput): MemoryTarget {
  return input.flags.target === "user" ? "user" : "memory";
}

/** The targets a read covers: the one that was named, or both. */
export function targetsFlag(input: CommandInput): readonly MemoryTarget[] {
  return input.flags.target === undefined ? MEMORY_TARGETS : [targetFlag(input)];
}

/** A text as the store would keep it: LF line ends, nothing around it. What a refusal leaves behind is the hash of this. */
export function asStored(text: string): string {
  return pyStrip(normalizeNewlines(text));
}

/** An argument that may be '-' for standard input. */
export async function textArgument(
  input: CommandInput,
  context: CommandContext,
  name: string,
): Promise<string> {
  const given = input.args[name] ?? "";
  return asStored(given === "-" ? await context.io.readInput() : given);
}

/** For commands that would take an empty text to mean everything, or nothing. */
export async function wantedText(
  input: CommandInput,
  context: CommandContext,
  name: string,
): Promise<string> {
  const text = await textArgument(input, context, name);
  if (text !== "") return text;
  throw new CommandFailure(`The ${name} cannot be empty.`, { exitCode: 2, details: { kind: "empty" } });
}

export type PinView = {
  readonly isPinned: (target: MemoryTarget, entry: string) => boolean;
  readonly notes: readonly string[];
};

/** Pins for commands that only look. Reading forgives: a damaged pin file costs a note, not the command. */
export function viewPins(store: MemoryStore): PinView {
  try {
    store.isPinned("memory", ""); // reads the file
    return { isPinned: (target, entry) => store.isPinned(target, entry), notes: [] };
  } catch (cause) {
    return { isPinned: () => false, notes: [`Pins are not shown. ${describeCause(cause)}`] };
  }
}
