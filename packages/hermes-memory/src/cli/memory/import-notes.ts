// `hermes memory import`: notes of other agents become entries, after a preview.
import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { committedWrites, formatUsage, type MemoryStore } from "@hermes-memory/core/internal/curated";
import { maskStoredSecrets } from "@hermes-memory/core/internal/security";
import {
  applyNotes,
  keepOverflow,
  NOTE_FORMATS,
  type NoteFormat,
  type NoteSource,
  type NoteStatus,
  notesHere,
  overflowOf,
  type PlannedNote,
  planNotes,
  readNotes,
} from "@hermes-memory/import/internal";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  usageFailure,
} from "../command.ts";
import { confirmed } from "../confirm.ts";
import { counted, printable } from "../printing.ts";
import { render } from "../render.ts";
import { expanded, placeOf } from "../sessions/import-sources.ts";
import {
  memoryDirectory,
  memoryFailure,
  mirrorToProvider,
  openStore,
  withProviderReport,
} from "./memory-command.ts";

export const importNotes: CommandBody = async (input, context) => {
  const sources = await context.io.untilInterrupted((signal) => readAll(input, context, signal));
  // Loading creates the directory, which a preview must not do.
  const isThere = existsSync(memoryDirectory(input, context));
  const store = await openStore(input, context, { isLoaded: isThere });
  const { target, limit, overflow: file, again } = input.flags;
  const plan = planNotes(sources, store, {
    target: target === "memory" || target === "user" ? target : "auto",
    limit: typeof limit === "number" ? limit : undefined,
    again: again === true,
  });
  const remarks = sources.flatMap((source) => source.remarks.map(printable));
  const json = { ...planJson(plan, sources), remarks };
  const preview = previewLines(json, context);
  const overflow = overflowOf(plan);
  const overflowFile = typeof file === "string" ? file : undefined;
  const { add = 0, archive = 0 } = json.counts;
  const isDryRun = input.flags["dry-run"] === true;
  if (isDryRun || (add + archive === 0 && (overflow.length === 0 || overflowFile === undefined))) {
    const done = isDryRun
      ? { success: true, dry_run: true, message: "Nothing was written (--dry-run)." }
      : { success: true, message: "Nothing was imported.", added: 0 };
    const notes = [...remarks, ...(isDryRun ? [] : hintFor(overflow, overflowFile))];
    return { json: { ...done, ...json }, lines: [...preview, done.message], notes };
  }
  const question = [
    `Add ${counted(add, "entry", "entries")}`,
    ...(archive === 0 ? [] : [`archive ${archive}`]),
    ...(overflowFile === undefined || overflow.length === 0
      ? []
      : [`write ${overflow.length} without room to ${printable(basename(overflowFile))}`]),
  ].join(", and ");
  const list = [...preview, ...remarks];
  const untouched = "Nothing was imported";
  const ask = { list, question: `${question}?`, json, isShort: true, untouched };
  await confirmed(ask, input, context);
  if (!isThere) await store.load();
  const outcome = await carryOut(input, context, { plan, store, overflowFile, json });
  // A user who was asked has seen the preview.
  if (input.flags.yes !== true) return outcome;
  const { message } = outcome.json as { readonly message: string };
  return { ...outcome, lines: [...preview, message], notes: [...remarks, ...(outcome.notes ?? [])] };
};

// ---- The files ----

async function readAll(
  input: CommandInput,
  context: CommandContext,
  signal: AbortSignal,
): Promise<readonly NoteSource[]> {
  const format = NOTE_FORMATS.find(({ name }) => name === input.flags.from);
  const paths = pathsOf(input, context, format);
  const sources: NoteSource[] = [];
  for (const path of paths) {
    const read = await readNotes(path, { format, isExperimental: input.flags.experimental === true, signal });
    if (!read.ok) {
      const { kind, message } = read.error;
      throw new CommandFailure(`Cannot import ${printable(path)}: ${printable(message)}.`, {
        exitCode: kind === "experimental" ? 2 : 1,
        hint: "Nothing was imported.",
        details: { kind, path },
      });
    }
    sources.push(read.value);
  }
  return sources;
}

/** The files that the user named, else those where the product of --from keeps them. */
function pathsOf(input: CommandInput, context: CommandContext, format: NoteFormat | undefined): string[] {
  const place = placeOf(context);
  if (input.rest.length > 0) return [...new Set(input.rest.map((path) => expanded(path, context)))];
  const here = notesHere(place, format === undefined ? undefined : [format]);
  if (format !== undefined && here.length > 0) return here.map(({ path }) => path);
  const hint =
    here.length === 0
      ? "For example: hermes memory import ~/.claude/CLAUDE.md"
      : [
          "Found on this machine:",
          ...here.map(({ path }) => `  hermes memory import ${printable(path)}`),
        ].join("\n");
  throw usageFailure(
    format === undefined
      ? "No file was named."
      : `No file was named, and there is none in the places of ${format.title}.`,
    { hint, found: here.map(({ path }) => path) },
  );
}

// ---- Writing ----

type Work = {
  readonly plan: readonly PlannedNote[];
  readonly store: MemoryStore;
  readonly overflowFile: string | undefined;
  readonly json: ReturnType<typeof planJson>;
};

/** The overflow file is written first: if that fails, no entry was stored. */
async function carryOut(input: CommandInput, context: CommandContext, work: Work): Promise<CommandOutcome> {
  const { plan, store, overflowFile, json } = work;
  const overflow = overflowOf(plan);
  const kept = overflowFile === undefined || overflow.length === 0 ? undefined : keep(overflowFile, overflow);
  const { outcomes, error } = await applyNotes(plan, store);
  const report = await mirrorToProvider(input, context, outcomes.flatMap(committedWrites));
  if (error !== undefined) {
    const done = outcomes.map(({ target, changeId }) => `Before that, ${target} was changed (${changeId}).`);
    throw memoryFailure(error.error, done.join(" ") || undefined);
  }
  const { add: added = 0, archive: archived = 0 } = json.counts;
  const message = [
    `Imported ${counted(added, "entry", "entries")}${archived === 0 ? "" : `, and ${archived} into the archive`}.`,
    ...outcomes.map(({ target, changeId }) => `'hermes memory undo ${changeId}' takes it back (${target}).`),
    ...(kept === undefined ? [] : [`${kept} without room added to ${overflowFile}.`]),
  ].join("\n");
  const outcome: CommandOutcome = {
    json: {
      success: true,
      message,
      added,
      ...(archived === 0 ? {} : { archived }),
      changes: outcomes.map(({ target, changeId, usedChars, charLimit }) => ({
        target,
        change_id: changeId,
        usage: formatUsage({ used: usedChars, limit: charLimit }),
      })),
      ...(kept === undefined ? {} : { overflow_file: overflowFile, overflow_kept: kept }),
      ...json,
    },
    lines: [printable(message)],
    notes: [...hintFor(overflow, overflowFile), ...store.warnings.map(printable)],
  };
  return withProviderReport(outcome, report);
}

function keep(path: string, notes: readonly PlannedNote[]): number {
  const kept = keepOverflow(resolve(path), notes);
  if (kept.ok) return kept.value;
  throw new CommandFailure(`Cannot write ${printable(path)}: ${kept.error.reason}.`, {
    hint: "Nothing was imported. Name another file with --overflow.",
    details: { kind: "overflow-unwritable" },
  });
}

// ---- What the user sees ----

function previewLines(json: ReturnType<typeof planJson>, { io }: CommandContext): string[] {
  const entries = json.entries.map(({ status, target, chars, text, reason }) => {
    return { status, target, chars, text, reason };
  });
  return render({ ...json, entries, remarks: [] }, io.paint);
}

function hintFor(overflow: readonly PlannedNote[], file: string | undefined): string[] {
  if (overflow.length === 0 || file !== undefined) return [];
  return [
    `${counted(overflow.length, "entry", "entries")} had no room. --overflow FILE keeps such entries in a file; 'hermes memory remove' makes room.`,
  ];
}

function planJson(plan: readonly PlannedNote[], sources: readonly NoteSource[]) {
  const byStatus = Map.groupBy(plan, ({ status }) => status);
  const counts: Partial<Record<NoteStatus, number>> = Object.fromEntries(
    [...byStatus].map(([status, notes]) => [status, notes.length]),
  );
  return {
    files: sources.map(({ path, format, notes }) => ({ path, format: format.name, notes: notes.length })),
    counts,
    entries: plan.map(({ text, target, chars, status, reason, ids, format, path, place }) => ({
      text: maskStoredSecrets(text).text, // a credential is not printed, not even one that is refused
      target,
      chars,
      status,
      reason,
      ids,
      format: format.name,
      path,
      place,
    })),
  };
}
