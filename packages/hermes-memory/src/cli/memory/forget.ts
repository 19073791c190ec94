// forget: erases a text from every place this memory keeps one, the active provider's store included, and says what it cannot reach.
import {
  type Forgotten,
  fileNameOf,
  looksLikeId,
  type MemoryStore,
  type MemoryTarget,
} from "@hermes-memory/core/curated";
import type { Forgot } from "@hermes-memory/core/providers";
import type { CommandBody, CommandContext, CommandInput } from "../command.ts";
import { unwrap } from "../command.ts";
import { declined } from "../confirm.ts";
import { counted, oneLine, printable } from "../printing.ts";
import { findLeftBehind, type LeftBehind } from "./left-behind.ts";
import { isHomeMemory, memoryFailure, openStore, stagedWritesOf } from "./memory-command.ts";
import { askedEntry, entryName, targetNamed } from "./named-entry.ts";

export const forget: CommandBody = async (input, context) => {
  const asked = await askedEntry(input, context, {
    word: input.args.text,
    command: "forget",
    isDashInput: true,
  });
  const store = await openStore(input, context);
  const target = targetNamed(asked, store, input);
  const options = stagedWritesOf(input, context);
  const isPlain = asked.by === "text" && !isIdOf(asked.text, target, store, options);
  const text = isPlain
    ? asked.text
    : unwrap(
        store.resolve(target, {
          ...entryName(asked, store, target),
          ...(asked.by === "text" ? { match: "id" } : {}),
        }),
        memoryFailure,
      ).op.oldText;
  const traces = store.traces(text, options);
  const outside = await lookOutside(text, input, context);
  const found = { ...toJson(traces), ...outsideJson(outside) };
  const hasRecords = !isNothing(traces) || erasedBy(outside.provider) > 0;
  if (!hasRecords && remainingIn(outside.provider) === undefined) {
    const isClean = outside.left.length === 0;
    return {
      json: { success: isClean, ...found },
      lines: [
        `No trace of this text${isClean ? "" : " in the memory of this home's owner"}. (Letter case counts.)`,
      ],
      notes: [...store.warnings, ...unreached(outside)],
      exitCode: isClean ? 0 : 1,
    };
  }
  const refused = await declined(
    {
      list: [
        "This goes for good, and cannot be taken back:",
        ...places(traces),
        ...providerPlaces(outside.provider),
        ...unreached(outside),
      ],
      question: "Forget it everywhere?",
      json: found,
    },
    input,
    context,
  );
  if (refused) return refused;
  const forgotten = unwrap(await store.forget(text, { ...options, meta: { origin: "cli" } }), memoryFailure);
  const provider = await askProvider(text, false, input, context);
  const done = { ...outside, provider };
  const isErased = provider.kind !== "failed" && remainingIn(provider) === undefined;
  const isDone = isErased && outside.left.length === 0;
  return {
    json: { success: isDone, ...toJson(forgotten), ...outsideJson(done) },
    lines: hasRecords
      ? ["Forgotten:", ...places(forgotten), ...providerPlaces(provider)]
      : [
          isErased
            ? "Deleted records that held this text were overwritten."
            : "No record holds this text any more.",
        ],
    notes: [...store.warnings, ...unreached(done)],
    exitCode: isDone ? 0 : 1,
  };
};

/** An id in the text's place, of an entry that is there. What holds the same digits as text goes first. */
function isIdOf(
  text: string,
  target: MemoryTarget,
  store: MemoryStore,
  options: { pendingDirectory?: string },
): boolean {
  if (!looksLikeId(text) || !isNothing(store.traces(text, options))) return false;
  return store.resolve(target, { oldText: text, match: "id" }).ok;
}

/** Where a text may be beside the memory directory. */
type Outside = {
  readonly provider: Forgot;
  /** Bundled providers that are not active and hold it. */
  readonly elsewhere: readonly { readonly provider: string; readonly found: string }[];
  /** Files that hold it and are not this memory's. */
  readonly left: readonly LeftBehind[];
};

async function lookOutside(text: string, input: CommandInput, context: CommandContext): Promise<Outside> {
  if (!isHomeMemory(input, context)) return { provider: { kind: "none" }, elsewhere: [], left: [] };
  const { activeProviderName, findTracesElsewhere, findTracesOfUsers } = await import(
    "@hermes-memory/core/providers"
  );
  const active = activeProviderName((await context.memory.memoryConfig()).provider);
  const { home } = context.memory;
  return {
    provider: await askProvider(text, true, input, context),
    elsewhere: await findTracesElsewhere(home, active, text),
    left: [...(await findLeftBehind(home, text)), ...(await findTracesOfUsers(home, text))],
  };
}

async function askProvider(
  text: string,
  isDryRun: boolean,
  input: CommandInput,
  context: CommandContext,
): Promise<Forgot> {
  if (!isHomeMemory(input, context)) return { kind: "none" };
  const outcome = await context.memory.owner.provider.forget(text, { isDryRun });
  if (outcome.kind !== "none") context.io.endWithoutWaiting();
  return outcome;
}

function erasedBy(provider: Forgot): number {
  return provider.kind === "forgot" ? provider.erased : 0;
}

/** What the provider says is left, or may be. */
function remainingIn(provider: Forgot): string | undefined {
  return provider.kind === "forgot" ? provider.remaining : undefined;
}

/** What stays, and why. */
function unreached({ provider, elsewhere, left }: Outside): string[] {
  const stays = [
    ...elsewhere.map(
      (each) =>
        `${printable(each.found)} '${each.provider}' is not the active provider, so it is left alone: make it active ('hermes memory setup ${each.provider}') and forget again.`,
    ),
    ...left.map(({ path, reach }) => printable(`Not erased: ${path}. ${reach}`)),
  ];
  switch (provider.kind) {
    case "none":
      return stays;
    case "forgot":
      return [...(provider.remaining === undefined ? [] : [printable(provider.remaining)]), ...stays];
    case "cannot":
      return [
        `The memory provider '${provider.provider}' has no way to erase a text for us. What it was told about this stays there until it is erased there.`,
        ...stays,
      ];
    case "failed":
      return [
        `The memory provider '${provider.provider}' could not be reached, so what it holds stays: ${printable(provider.reason)} Mend that and forget again.`,
        ...stays,
      ];
    default:
      return provider satisfies never;
  }
}

function providerPlaces(provider: Forgot): string[] {
  const erased = erasedBy(provider);
  return provider.kind === "forgot" && erased > 0
    ? [`  ${counted(erased, "record")} of the memory provider '${provider.provider}'`]
    : [];
}

/** Nothing where there is nothing to say. */
function outsideJson({ provider, elsewhere, left }: Outside): Record<string, unknown> {
  return {
    ...(provider.kind === "none" ? {} : { provider: providerJson(provider) }),
    ...(elsewhere.length === 0 ? {} : { elsewhere }),
    ...(left.length === 0 ? {} : { left }),
  };
}

function providerJson(provider: Exclude<Forgot, { kind: "none" }>): object {
  switch (provider.kind) {
    case "forgot": {
      const { provider: name, erased, remaining } = provider;
      return { name, status: "forgot", erased, ...(remaining === undefined ? {} : { remaining }) };
    }
    case "cannot":
      return { name: provider.provider, status: "cannot" };
    case "failed":
      return { name: provider.provider, status: "failed", problem: provider.reason };
    default:
      return provider satisfies never;
  }
}

function isNothing({ entries, journalLines, archived, backups, leftovers, pending }: Forgotten): boolean {
  return entries.length + journalLines + archived + backups + leftovers + pending === 0;
}

function toJson({ entries, journalLines, ...counts }: Forgotten): Record<string, unknown> {
  return { entries, journal_lines: journalLines, ...counts };
}

function places({ entries, journalLines, archived, backups, leftovers, pending }: Forgotten): string[] {
  const counts = [
    [journalLines, "line of the journal", "lines of the journal"],
    [archived, "archived entry", "archived entries"],
    [backups, "backup, the text in it", "backups, the text in them"],
    [leftovers, "file a killed process left", "files killed processes left"],
    [pending, "staged write", "staged writes"],
  ] as const;
  return [
    ...entries.map(({ target, entry }) => `  ${fileNameOf(target)}: ${oneLine(entry)}`),
    ...counts.flatMap(([count, one, many]) => (count === 0 ? [] : [`  ${counted(count, one, many)}`])),
  ];
}
