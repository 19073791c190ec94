// Parts that every `hermes memory` command shares: the opened files, its arguments, the failure for a refused write, and the report on
// the active provider, which gets a copy of each write.
import { resolve } from "node:path";
import {
  type CommittedWrite,
  type EntryName,
  fileNameOf,
  formatFraction,
  looksLikeId,
  MEMORY_TARGETS,
  type MemoryError,
  type MemoryStore,
  type MemoryTarget,
} from "@hermes-memory/core/internal/curated";
import { pendingWritesDirectory } from "@hermes-memory/core/internal/home";
import { describeCause, normalizeNewlines, pyStrip } from "@hermes-memory/core/internal/lib";
import type { Mirrored } from "@hermes-memory/core/internal/providers";
import { areSecretIds } from "@hermes-memory/core/internal/security";
import {
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  usageFailure,
} from "../command.ts";
import { counted, oneLine, printable } from "../printing.ts";

type Flags = Pick<CommandInput, "flags">;

// Files

/** The files of the home's owner, or those in the directory that --dir names. */
export function openStore(
  input: Flags,
  context: CommandContext,
  options: { readonly isLoaded?: boolean } = {},
): Promise<MemoryStore> {
  const allowSecrets = input.flags["allow-secret"] === true;
  return context.memory.administrator.curatedIn(memoryDirectory(input, context), {
    ...options,
    allowSecrets,
  });
}

export function memoryDirectory({ flags: { dir } }: Flags, { memory }: CommandContext): string {
  return typeof dir === "string" ? resolve(dir) : memory.administrator.directory;
}

/** False when --dir names another directory. Only the home's own memory has a provider that mirrors it. */
export function isHomeMemory(input: Flags, context: CommandContext): boolean {
  return memoryDirectory(input, context) === context.memory.administrator.directory;
}

/**
 * Staged writes belong to a home or to one of its users. Any other directory that --dir names has none, and the staged writes of the
 * home are then left alone.
 */
export function stagedWritesOf(input: Flags, context: CommandContext): { pendingDirectory?: string } {
  const { home, owner } = context.memory;
  if (input.flags.dir === undefined) return { pendingDirectory: owner.pendingDirectory };
  const own = pendingWritesDirectory(home, memoryDirectory(input, context));
  return own === owner.pendingDirectory ? {} : { pendingDirectory: own };
}

export type PinView = {
  readonly isPinned: (target: MemoryTarget, entry: string) => boolean;
  readonly notes: readonly string[];
};

/** Pins for commands that only read: a damaged pin file costs a note, not the command. */
export function viewPins(store: MemoryStore): PinView {
  try {
    store.isPinned("memory", ""); // reads the file
    return { isPinned: (target, entry) => store.isPinned(target, entry), notes: [] };
  } catch (cause) {
    return { isPinned: () => false, notes: [`Pins are not shown. ${describeCause(cause)}`] };
  }
}

// Arguments

/** The target of a write. */
export function targetFlag(input: Flags): MemoryTarget {
  return input.flags.target === "user" ? "user" : "memory";
}

/** The targets of a read: the one that --target names, or both. */
export function targetsFlag(input: Flags): readonly MemoryTarget[] {
  return input.flags.target === undefined ? MEMORY_TARGETS : [targetFlag(input)];
}

/** A text as the store keeps it: LF line ends, no blanks around it. The journal of a refused write has the hash of this form. */
function asStored(text: string): string {
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

/** The same for a command in which an empty text would match every entry, or none. */
export async function nonEmptyText(
  input: CommandInput,
  context: CommandContext,
  name: string,
): Promise<string> {
  const text = await textArgument(input, context, name);
  if (text !== "") return text;
  throw new CommandFailure(`The ${name} cannot be empty.`, { exitCode: 2, details: { kind: "empty" } });
}

// Refused writes

/** For `unwrap`: `--json` prints the fields that the memory tool has for the same error. */
export function memoryFailure(error: MemoryError, extraHint?: string): CommandFailure {
  const { details = {}, hint } = explained(error);
  return new CommandFailure(printable(error.message), {
    exitCode: error.kind === "empty" ? 2 : 1, // an argument without text is wrong usage
    details: { kind: error.kind, ...details },
    hint: [hint, extraHint].filter((line) => line !== undefined).join("\n") || undefined,
  });
}

/** Printed for the user only. The tool, whose answer a model reads, does not say how to get around the check. */
export function secretHint(findings: unknown, section = "memory"): string | undefined {
  return Array.isArray(findings) && areSecretIds(findings.map(String))
    ? `To store it anyway: --allow-secret, or 'hermes config set ${section}.allow_secrets true'.`
    : undefined;
}

const SEARCHED_AS_BOTH =
  " It was searched for as a text and as an id; --text or --id says which one is meant, --target user searches USER.md.";

function explained(error: MemoryError): { readonly details?: object; readonly hint?: string } {
  switch (error.kind) {
    case "blocked":
      return { details: { ids: error.ids } };
    case "ambiguous":
      return { details: { matches: error.matches }, hint: listed(error.matches) };
    case "over_limit": {
      const usage = formatFraction({ used: error.usedChars, limit: error.charLimit });
      return {
        details: { current_entries: error.currentEntries, usage },
        hint: listed(error.currentEntries),
      };
    }
    case "drift": {
      const { backup: drift_backup, remediation } = error;
      return { details: { drift_backup, remediation }, hint: printable(remediation) };
    }
    case "no_match": {
      const both = /'[0-9a-f]{8,64}'/.test(error.message) ? SEARCHED_AS_BOTH : "";
      if (error.message.startsWith("No entry matched"))
        return { hint: `'hermes memory show' lists the entries; letter case counts.${both}` };
      return error.message.startsWith("No entry has the id")
        ? { hint: "For an entry that holds these characters as text: --text." }
        : {};
    }
    default:
      return {};
  }
}

function listed(entries: readonly string[]): string {
  return entries.map((entry) => `  ${oneLine(entry)}`).join("\n");
}

// The active provider

export type ProviderReport = {
  /** Spread into the outcome's `json`. */
  readonly json: { readonly provider?: Readonly<Record<string, unknown>> };
  readonly notes: readonly string[];
};

/**
 * Sends the writes of a command to the active provider, as the agent does with its own. The file is written by then, so a provider
 * that fails or times out costs a warning and a field of `--json`, never the command.
 */
export async function mirrorToProvider(
  input: Flags,
  context: CommandContext,
  writes: readonly CommittedWrite[],
): Promise<ProviderReport> {
  if (writes.length === 0 || !(await hasProvider(input, context))) return { json: {}, notes: [] };
  const outcome = await context.memory.administrator.provider.mirror(writes, "cli");
  context.io.endWithoutWaiting();
  const { provider, notes } = outcome.kind === "none" ? { notes: [] } : reportOf(outcome);
  return { json: provider === undefined ? {} : { provider }, notes: notes.map(printable) };
}

function reportOf(outcome: Exclude<Mirrored, { kind: "none" }>) {
  const name = outcome.provider;
  const warning = `warning: Saved, but the memory provider '${name}' did not`;
  if (outcome.kind === "failed")
    return {
      provider: { name, status: "failed", problem: outcome.reason },
      notes: [`${warning} get the change: ${outcome.reason} 'hermes memory status' shows more.`],
    };
  const { writes, isStored, refused, queued } = outcome;
  const reason = [...new Set(queued)].join(" ");
  const problem = [...new Set(refused)].join(" ");
  const waits = `${name}: queued, not at the server yet (${reason.replace(/\.$/, "")}). An agent sends it; 'hermes memory outbox send' tries at once.`;
  const notes = queued.length > 0 ? [waits] : [];
  if (refused.length > 0) {
    const which = refused.length < writes ? `${refused.length} of ${writes} changes` : "it";
    return {
      provider: { name, status: "refused", writes, refused: refused.length, problem },
      notes: [`${warning} take ${which}: ${problem}`, ...notes],
    };
  }
  return queued.length > 0
    ? { provider: { name, status: "queued", writes, queued: queued.length, reason }, notes }
    : { provider: { name, status: isStored ? "mirrored" : "told", writes }, notes };
}

export function withProviderReport(outcome: CommandOutcome, report: ProviderReport): CommandOutcome {
  return {
    ...outcome,
    json: { ...(outcome.json as object), ...report.json },
    notes: [...(outcome.notes ?? []), ...report.notes],
  };
}

/** Reads only config.yaml: without a provider, the provider layer is not loaded. */
export async function hasProvider(input: Flags, context: CommandContext): Promise<boolean> {
  return isHomeMemory(input, context) && (await context.memory.memoryConfig()).provider.trim() !== "";
}

// Which entry the user means: by a part of its text, by its number in `memory show`, or by its id.

/** The arguments, before a file is read. */
export type Asked =
  | { readonly by: "text"; readonly text: string }
  | { readonly by: "id"; readonly text: string }
  | { readonly by: "entry"; readonly number: number };

/**
 * `word` is the positional argument. A bare number there is refused, because `show` numbers the entries and the text '2' may be part
 * of several. Eight digits or more are a text, or an id if no entry contains them.
 */
export async function askedEntry(
  input: CommandInput,
  context: CommandContext,
  {
    word,
    command,
    isDashInput = false,
  }: { word: string | undefined; command: string; isDashInput?: boolean },
): Promise<Asked> {
  const { entry, id, text } = input.flags;
  const given = [entry, id, text, word].filter((each) => each !== undefined);
  if (given.length > 1)
    throw usageFailure("Name the entry once: by its text, with --entry, with --id or with --text.");
  if (typeof entry === "number") return { by: "entry", number: entry };
  if (typeof id === "string") return { by: "id", text: asStored(id) };
  const typed = typeof text === "string" ? text : word;
  if (typed === undefined)
    throw usageFailure(`Name the entry: a part of its text, --entry <n> or --id <id>.`);
  if (text === undefined && /^#?\d{1,7}\.?$/.test(typed.trim())) throw bareNumber(typed, command);
  const isInput = isDashInput && typed === "-" && text === undefined;
  const stored = asStored(isInput ? await context.io.readInput() : typed);
  if (stored !== "") return { by: "text", text: stored };
  throw new CommandFailure("The text cannot be empty.", { exitCode: 2, details: { kind: "empty" } });
}

/** A number becomes the text of that entry now. If the entry changes before the write, nothing is written. */
export function entryName(asked: Asked, store: MemoryStore, target: MemoryTarget): EntryName {
  if (asked.by === "text") return { oldText: asked.text };
  if (asked.by === "id") return { oldText: asked.text, match: "id" };
  const entries = store.entries(target);
  const text = entries[asked.number - 1];
  if (text !== undefined) return { oldText: text, match: "entry" };
  const hint = `It has ${counted(entries.length, "entry", "entries")}; 'hermes memory show --target ${target}' lists them.`;
  throw new CommandFailure(`${fileNameOf(target)} has no entry ${asked.number}.`, {
    details: { kind: "no_match" },
    hint,
  });
}

/** Without --target an id is searched for in both files: it belongs to one of them only. */
export function targetNamed(asked: Asked, store: MemoryStore, input: CommandInput): MemoryTarget {
  const usual = targetFlag(input);
  if (input.flags.target !== undefined || asked.by === "entry") return usual;
  if (asked.by === "text" && !looksLikeId(asked.text)) return usual;
  if (asked.by === "text" && store.entries(usual).some((entry) => entry.includes(asked.text))) return usual;
  const isThere = (target: MemoryTarget): boolean =>
    store.resolve(target, { oldText: asked.text, match: "id" }).ok;
  return MEMORY_TARGETS.find(isThere) ?? usual;
}

function bareNumber(typed: string, command: string): CommandFailure {
  const number = typed.replace(/\D/g, "");
  return usageFailure(`'${typed.trim()}' is a number, not a text.`, {
    hint: `Use 'hermes memory ${command} --entry ${number}' for entry ${number} of 'hermes memory show', more of its text, or --text ${number} when this is the text.`,
  });
}
