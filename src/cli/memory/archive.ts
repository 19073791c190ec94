// archive list, archive search, archive restore; pin and unpin, which keep entries from being archived.
import { type ArchivedEntry, fileNameOf, type MemoryStore, type MemoryTarget } from "../../curated/index.ts";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
} from "../command.ts";
import { indented, localTime, oneLine } from "../printing.ts";
import { changed } from "./entries.ts";
import { openStore, targetFlag, targetsFlag, unwrap, wantedText } from "./open.ts";

type Archived = ArchivedEntry & { readonly target: MemoryTarget };

export const list: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  return listing(archivedIn(store, input), input, store, "The archive is empty.");
};

export const search: CommandBody = async (input, context) => {
  const words = (await wantedText(input, context, "words")).toLowerCase().split(/\s+/);
  const store = await openStore(input, context);
  const hits = archivedIn(store, input).filter(({ text }) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  });
  return listing(hits, input, store, "No archived entry has all of these words.");
};

export const restore: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  const outcome = unwrap(await store.restore(input.args.id ?? "", { origin: "cli" }));
  return changed(outcome, store, input, context);
};

export const pin: CommandBody = (input, context) => setPin(input, context, true);

export const unpin: CommandBody = (input, context) => setPin(input, context, false);

async function setPin(input: CommandInput, context: CommandContext, isOn: boolean): Promise<CommandOutcome> {
  const text = await wantedText(input, context, "text");
  const store = await openStore(input, context);
  const target = input.flags.target === undefined ? theOneTarget(store, text) : targetFlag(input);
  const entry = unwrap(await store.pin(target, text, isOn));
  return {
    json: { success: true, target, entry, pinned: isOn },
    lines: [`${isOn ? "Pinned" : "Unpinned"} in ${fileNameOf(target)}: ${oneLine(entry)}`],
    notes: store.warnings,
  };
}

/** Where the text is, when only one of the files has it. A text found nowhere is left to the store to refuse. */
function theOneTarget(store: MemoryStore, text: string): MemoryTarget {
  const hits = (["memory", "user"] as const).flatMap((target) =>
    store
      .entries(target)
      .filter((entry) => entry.includes(text))
      .map((entry) => ({ target, entry })),
  );
  if (new Set(hits.map(({ target }) => target)).size < 2) return hits[0]?.target ?? "memory";
  throw new CommandFailure("Entries of both MEMORY.md and USER.md hold this text. Pass --target.", {
    details: { kind: "ambiguous", matches: hits },
    hint: hits.map(({ target, entry }) => `  ${target.padEnd(6)}  ${oneLine(entry)}`).join("\n"),
  });
}

function archivedIn(store: MemoryStore, input: CommandInput): Archived[] {
  return targetsFlag(input).flatMap((target) => store.archived(target));
}

function listing(
  entries: readonly Archived[],
  input: CommandInput,
  store: MemoryStore,
  whenEmpty: string,
): CommandOutcome {
  return {
    json: entries.map(({ id, time, target, origin, sessionId, text }) => ({
      id,
      time,
      target,
      origin,
      ...(sessionId === undefined ? {} : { session: sessionId }),
      text,
    })),
    lines:
      entries.length === 0 ? [whenEmpty] : entries.map((entry) => line(entry, input.flags.full === true)),
    notes: store.warnings,
  };
}

function line({ id, time, target, text }: Archived, isWhole: boolean): string {
  const head = `${id}  ${localTime(time)}  ${target.padEnd(6)}`;
  return isWhole ? `${head}\n    ${indented(text, 4)}` : `${head}  ${oneLine(text)}`;
}
