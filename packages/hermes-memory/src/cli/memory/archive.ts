// `hermes memory archive list`, `search` and `restore`; `pin` and `unpin`, which keep entries from being archived.
import {
  type ArchivedEntry,
  entryId,
  fileNameOf,
  MEMORY_TARGETS,
  type MemoryStore,
  type MemoryTarget,
  withAllWords,
} from "@hermes-memory/core/internal/curated";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  unwrap,
} from "../command.ts";
import { indented, localTime, oneLine } from "../printing.ts";
import { changed } from "./entries.ts";
import { memoryFailure, nonEmptyText, openStore, targetsFlag } from "./memory-command.ts";
import { askedEntry, entryName, targetNamed } from "./named-entry.ts";

type Archived = ArchivedEntry & { readonly target: MemoryTarget };

export const list: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  return listing(archivedIn(store, input), input, store);
};

export const search: CommandBody = async (input, context) => {
  const words = await nonEmptyText(input, context, "words");
  const store = await openStore(input, context);
  const hits = withAllWords(archivedIn(store, input), words);
  return listing(hits, input, store);
};

export const restore: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  const outcome = unwrap(await store.restore(input.args.id ?? "", { origin: "cli" }), memoryFailure);
  return changed(outcome, store, input, context);
};

export const pin: CommandBody = (input, context) => setPin(input, context, true);

export const unpin: CommandBody = (input, context) => setPin(input, context, false);

async function setPin(input: CommandInput, context: CommandContext, isOn: boolean): Promise<CommandOutcome> {
  const command = isOn ? "pin" : "unpin";
  const asked = await askedEntry(input, context, { word: input.args.text, command, isDashInput: true });
  const store = await openStore(input, context);
  const isPlain = asked.by === "text" && input.flags.target === undefined;
  const plain = isPlain ? theOneTarget(store, asked.text) : undefined;
  const target = plain ?? targetNamed(asked, store, input);
  const { oldText, match } = entryName(asked, store, target);
  const entry = unwrap(await store.pin(target, oldText, isOn, match), memoryFailure);
  return {
    json: {
      success: true,
      message: `${isOn ? "Pinned" : "Unpinned"} in ${fileNameOf(target)}.`,
      target,
      id: entryId(target, entry),
      entry,
      pinned: isOn,
    },
    notes: store.warnings,
  };
}

/** The only file that has the text. An entry equal to the text takes precedence over entries that contain it. */
function theOneTarget(store: MemoryStore, text: string): MemoryTarget | undefined {
  const all = MEMORY_TARGETS.flatMap((target) => store.entries(target).map((entry) => ({ target, entry })));
  const equal = all.filter(({ entry }) => entry === text);
  const hits = equal.length > 0 ? equal : all.filter(({ entry }) => entry.includes(text));
  if (new Set(hits.map(({ target }) => target)).size < 2) return hits[0]?.target;
  throw new CommandFailure("Entries of both MEMORY.md and USER.md hold this text. Pass --target.", {
    details: { kind: "ambiguous", matches: hits },
    hint: hits.map(({ target, entry }) => `  ${target.padEnd(6)}  ${oneLine(entry)}`).join("\n"),
  });
}

function archivedIn(store: MemoryStore, input: CommandInput): Archived[] {
  return targetsFlag(input).flatMap((target) => store.archived(target));
}

function listing(entries: readonly Archived[], { flags }: CommandInput, store: MemoryStore): CommandOutcome {
  const json = entries.map(({ id, time, target, origin, sessionId: session, text }) => {
    return { id, entry_id: entryId(target, text), time, target, origin, session, text };
  });
  const whole = json.map(
    ({ id, time, target, text }) => `${id}  ${localTime(time)}  ${target}\n    ${indented(text, 4)}`,
  );
  return { json, lines: flags.full === true ? whole : undefined, notes: store.warnings };
}
