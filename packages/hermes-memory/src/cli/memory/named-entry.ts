// Which entry the user means: by a part of its text, by its number in `memory show`, or by its id.
import {
  type EntryName,
  fileNameOf,
  looksLikeId,
  MEMORY_TARGETS,
  type MemoryStore,
  type MemoryTarget,
} from "@hermes-memory/core/internal/curated";
import { type CommandContext, CommandFailure, type CommandInput, usageFailure } from "../command.ts";
import { counted } from "../printing.ts";
import { asStored, targetFlag } from "./memory-command.ts";

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
