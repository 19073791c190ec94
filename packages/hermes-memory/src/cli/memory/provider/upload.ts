// `hermes memory upload`: copies entries that the active provider does not have yet.
import {
  fileNameOf,
  MEMORY_TARGETS,
  type MemoryStore,
  type MemoryTarget,
} from "@hermes-memory/core/internal/curated";
import type { CuratedEntry, Uploaded } from "@hermes-memory/core/internal/providers";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
} from "../../command.ts";
import { counted, oneLine, printable } from "../../printing.ts";
import { progressDisplay } from "../../sessions/progress.ts";
import { openStore, targetsFlag } from "../memory-command.ts";
import { namedOrActive } from "./find-provider.ts";

const REASON_CHARS = 500;
const BLOCKED = "The scanner keeps it out of the prompt, so it is not copied: 'hermes memory show' says why.";

type Done = Extract<Uploaded, { readonly kind: "uploaded" }>;

export const upload: CommandBody = async (input, context) => {
  const name = await namedOrActive(undefined, context);
  const isDryRun = input.flags["dry-run"] === true;
  const store = await openStore(input, context);
  const { entries, blocked } = uploadable(store, targetsFlag(input));
  const progress = progressDisplay(context.io);
  const { outcome, isInterrupted } = await context.io.untilInterrupted(async (signal) => ({
    outcome: await context.memory.administrator.provider.upload({
      entries,
      isDryRun,
      origin: "cli",
      signal,
      onProgress: (done, total) => progress.show({ step: isDryRun ? "asking" : "copying", done, total }),
    }),
    isInterrupted: signal.aborted,
  }));
  progress.clear();
  context.io.endWithoutWaiting();
  const refused = blocked.map((entry) => ({ ...entry, reason: BLOCKED }));
  switch (outcome.kind) {
    case "none": // no entry; that a provider is active was checked
      return outcomeOf(
        { kind: "uploaded", provider: name, copied: [], present: [], waiting: [], refused, left: [] },
        { isDryRun, isInterrupted },
      );
    case "uploaded":
      return outcomeOf(
        { ...outcome, refused: [...outcome.refused, ...refused] },
        { isDryRun, isInterrupted },
      );
    case "cannot":
      throw new CommandFailure(`Nothing was copied to '${name}'. ${printable(outcome.reason)}`, {
        details: { kind: "cannot-upload", provider: name },
      });
    case "failed":
      throw new CommandFailure(
        `Nothing was copied: '${name}' could not be asked which entries it has. ${printable(outcome.reason)}`,
        {
          hint: "'hermes doctor --network' checks the connection. When it answers, run the upload again.",
          details: { kind: "unavailable", provider: name, reason: outcome.reason },
        },
      );
    default:
      return outcome satisfies never;
  }
};

/** Entries of files that are switched off are left out. */
export function uploadable(
  store: MemoryStore,
  targets: readonly MemoryTarget[] = MEMORY_TARGETS,
): { readonly entries: readonly CuratedEntry[]; readonly blocked: readonly CuratedEntry[] } {
  const all = targets
    .filter((target) => store.isEnabled(target))
    .flatMap((target) => {
      const blocked = new Set(store.blockedEntries(target).map(({ index }) => index));
      return store
        .entries(target)
        .map((text, index) => ({ entry: { target, text }, isBlocked: blocked.has(index) }));
    });
  const chosen = (isBlocked: boolean) =>
    all.flatMap((each) => (each.isBlocked === isBlocked ? [each.entry] : []));
  return { entries: chosen(false), blocked: chosen(true) };
}

function outcomeOf(
  { provider, copied, present, waiting, refused, left, problem }: Done,
  { isDryRun, isInterrupted }: { readonly isDryRun: boolean; readonly isInterrupted: boolean },
): CommandOutcome {
  const isDone = refused.length === 0 && left.length === 0;
  const name = printable(provider);
  const nothing = copied.length + waiting.length + refused.length + left.length === 0;
  return {
    json: {
      success: isDone,
      provider,
      dry_run: isDryRun,
      copied: isDryRun ? 0 : copied.length,
      ...(isDryRun ? { missing: copied.length } : {}),
      present: present.length,
      waiting: waiting.length,
      refused: refused.length,
      left: left.length,
      entries: {
        [isDryRun ? "missing" : "copied"]: copied,
        present,
        waiting,
        refused,
        left,
      },
      problem,
    },
    lines: [
      ...(nothing
        ? [`Nothing to copy: '${name}' has all ${counted(present.length, "entry", "entries")}.`]
        : [
            isDryRun
              ? `${counted(copied.length, "entry", "entries")} would be copied to '${name}'.`
              : `Copied ${counted(copied.length, "entry", "entries")} to '${name}'.`,
            ...copied.map(entryLine),
            ...(present.length > 0 ? [`Already there: ${present.length}.`] : []),
          ]),
      ...(waiting.length > 0
        ? [
            `Waiting in the outbox: ${waiting.length} (${reasons(waiting)}). An agent sends them; 'hermes memory outbox send' tries at once.`,
            ...waiting.map(entryLine),
          ]
        : []),
      ...(refused.length > 0
        ? [
            `Refused: ${refused.length}.`,
            ...refused.map((entry) => `${entryLine(entry)}\n    ${oneLine(entry.reason, REASON_CHARS)}`),
          ]
        : []),
      ...(left.length > 0
        ? [
            `Not tried: ${left.length}. ${printable(problem ?? "")} Run the command again: nothing is copied twice.`,
          ]
        : []),
    ],
    exitCode: isInterrupted ? 130 : isDone ? 0 : 1,
  };
}

function entryLine({ target, text }: CuratedEntry): string {
  return `  ${fileNameOf(target)}: ${oneLine(text)}`;
}

function reasons(waiting: Done["waiting"]): string {
  return [...new Set(waiting.map(({ reason }) => oneLine(reason, REASON_CHARS)))].join(" ");
}

/** What setup says at its end. */
export async function uploadHint(
  name: string,
  input: CommandInput,
  context: CommandContext,
): Promise<{ readonly count: number; readonly note?: string }> {
  const { notYetSent } = await import("@hermes-memory/core/internal/providers");
  const { entries } = uploadable(await openStore(input, context));
  const count = (await notYetSent(context.memory.home, name, entries)).length;
  if (count === 0) return { count };
  const what = counted(count, "entry of MEMORY.md and USER.md was", "entries of MEMORY.md and USER.md were");
  return {
    count,
    note: `${what} not copied to '${name}' from here: 'hermes memory upload' copies what it does not have yet ('--dry-run' only counts).`,
  };
}
