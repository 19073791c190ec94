// `hermes memory import`: notes of other agents become entries, after a preview.
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
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
import { declined } from "../confirm.ts";
import { counted, oneLine, printable } from "../printing.ts";
import { placeOf } from "../sessions/import-transcripts.ts";
import {
  memoryDirectory,
  memoryFailure,
  mirrorToProvider,
  openStore,
  withProviderReport,
} from "./memory-command.ts";

/** On the terminal, per status; `--json` has all of them. */
const LISTED = 40;
const TEXT_COLUMNS = 90;

export const importNotes: CommandBody = async (input, context) => {
  const isDry = input.flags["dry-run"] === true;
  const sources = await context.io.untilInterrupted((signal) => readAll(input, context, signal));
  // Loading creates the directory, which a preview must not do.
  const isThere = existsSync(memoryDirectory(input, context));
  const store = await openStore(input, context, { isLoaded: isThere });
  const plan = planNotes(sources, store, {
    target: input.flags.target === "memory" || input.flags.target === "user" ? input.flags.target : "auto",
    limit: typeof input.flags.limit === "number" ? input.flags.limit : undefined,
    again: input.flags.again === true,
  });
  const remarks = sources.flatMap((source) => source.remarks.map(printable));
  const preview = previewLines(plan, sources, context);
  const json = { ...planJson(plan, sources), remarks };
  const overflow = overflowOf(plan);
  const overflowFile = typeof input.flags.overflow === "string" ? input.flags.overflow : undefined;
  const added = plan.filter(({ status }) => status === "add");
  const archived = plan.filter(({ status }) => status === "archive");
  if (isDry)
    return {
      json: { success: true, dry_run: true, ...json },
      lines: [...preview, "Nothing was written (--dry-run)."],
      notes: remarks,
    };
  if (added.length + archived.length === 0 && (overflow.length === 0 || overflowFile === undefined))
    return {
      json: { success: true, added: 0, ...json },
      lines: [...preview, "Nothing was imported.", ...hintFor(overflow, overflowFile)],
      notes: remarks,
    };
  const answer = await declined(
    {
      list: [...preview, ...remarks],
      question: questionOf(added.length, archived.length, overflow, overflowFile),
      json,
      isShort: true,
      untouched: "Nothing was imported",
    },
    input,
    context,
  );
  if (answer !== undefined) return answer;
  if (!isThere) await store.load();
  return carryOut(input, context, { plan, store, overflowFile, json, remarks, preview });
};

// ---- The files ----

async function readAll(
  input: CommandInput,
  context: CommandContext,
  signal: AbortSignal,
): Promise<readonly NoteSource[]> {
  const format = formatFlag(input);
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

function formatFlag({ flags: { from } }: CommandInput): NoteFormat | undefined {
  if (typeof from !== "string") return undefined;
  const found = NOTE_FORMATS.find(({ name }) => name === from);
  if (found !== undefined) return found;
  throw usageFailure(`There is no format '${printable(from)}'.`, {
    hint: `Known formats: ${NOTE_FORMATS.map(({ name }) => name).join(", ")}.`,
  });
}

/** The files that the user named, else those where the product of --from keeps them. */
function pathsOf(input: CommandInput, context: CommandContext, format: NoteFormat | undefined): string[] {
  const place = placeOf(context);
  if (input.rest.length > 0)
    return [
      ...new Set(
        input.rest.map((path) => (path.startsWith("~/") ? join(place.home, path.slice(2)) : resolve(path))),
      ),
    ];
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
  readonly json: object;
  readonly remarks: readonly string[];
  readonly preview: readonly string[];
};

/** The overflow file is written first: if that fails, no entry was stored. */
async function carryOut(input: CommandInput, context: CommandContext, work: Work): Promise<CommandOutcome> {
  const { plan, store, overflowFile, json, remarks, preview } = work;
  const overflow = overflowOf(plan);
  const kept = overflowFile === undefined || overflow.length === 0 ? undefined : keep(overflowFile, overflow);
  const { outcomes, error } = await applyNotes(plan, store);
  const report = await mirrorToProvider(input, context, outcomes.flatMap(committedWrites));
  if (error !== undefined) {
    const done = outcomes.map(({ target, changeId }) => `Before that, ${target} was changed (${changeId}).`);
    throw memoryFailure(error.error, done.join(" ") || undefined);
  }
  const changes = outcomes.map(({ target, changeId, usedChars, charLimit }) => ({
    target,
    change_id: changeId,
    usage: formatUsage({ used: usedChars, limit: charLimit }),
  }));
  const added = plan.filter(({ status }) => status === "add").length;
  const archived = plan.filter(({ status }) => status === "archive").length;
  const outcome: CommandOutcome = {
    json: {
      success: true,
      added,
      ...(archived === 0 ? {} : { archived }),
      changes,
      ...(kept === undefined ? {} : { overflow_file: overflowFile, overflow_kept: kept }),
      ...json,
    },
    lines: [
      // A user who was asked has seen the preview.
      ...(input.flags.yes === true ? preview : []),
      `Imported ${counted(added, "entry", "entries")}${archived === 0 ? "" : `, and ${archived} into the archive`}.`,
      ...changes.map(
        (change) =>
          `  ${change.target} ${change.usage}; 'hermes memory undo ${change.change_id}' takes it back.`,
      ),
      ...(kept === undefined
        ? hintFor(overflow, overflowFile)
        : [`${counted(kept, "entry", "entries")} without room added to ${printable(overflowFile ?? "")}.`]),
    ],
    notes: [...(input.flags.yes === true ? remarks : []), ...store.warnings.map(printable)],
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

const HEADS: Readonly<Record<NoteStatus, string>> = {
  add: "To add",
  archive: "To archive",
  duplicate: "There already",
  removed: "Imported before and removed since (--again adds them)",
  over_budget: "No room",
  too_long: "Too long",
  blocked: "Blocked by the security scan",
  invalid: "Cannot be stored",
  disabled: "Target switched off",
  over_limit: "Left out by --limit",
};

function previewLines(
  plan: readonly PlannedNote[],
  sources: readonly NoteSource[],
  { io }: CommandContext,
): string[] {
  const heads = sources.map(
    ({ path, format, notes }) => `${printable(path)}: ${counted(notes.length, "note")} (${format.title})`,
  );
  const groups = statuses().flatMap((status) => {
    const notes = plan.filter((note) => note.status === status);
    if (notes.length === 0) return [];
    const rest = notes.length - LISTED;
    return [
      io.paint("bold", `${HEADS[status]}: ${notes.length}`),
      ...notes.slice(0, LISTED).map((note) => noteLine(note)),
      ...(rest > 0 ? [`  and ${rest} more; --json lists all of them`] : []),
    ];
  });
  return [...heads, ...groups];
}

function statuses(): NoteStatus[] {
  return Object.keys(HEADS) as NoteStatus[];
}

function noteLine({ target, chars, text, status, reason }: PlannedNote): string {
  const why =
    reason === undefined || status === "duplicate" || status === "removed" ? "" : `  [${printable(reason)}]`;
  return `  ${target.padEnd(6)} ${String(chars).padStart(5)}  ${oneLine(shown(text), TEXT_COLUMNS)}${why}`;
}

/** A credential is not printed, not even one that is refused. */
function shown(text: string): string {
  return maskStoredSecrets(text).text;
}

function questionOf(
  added: number,
  archived: number,
  overflow: readonly PlannedNote[],
  file: string | undefined,
): string {
  const rest =
    file === undefined || overflow.length === 0
      ? ""
      : `, and write ${counted(overflow.length, "entry", "entries")} without room to ${printable(basename(file))}`;
  const old = archived === 0 ? "" : `, and archive ${archived}`;
  return `Add ${counted(added, "entry", "entries")}${old}${rest}?`;
}

function hintFor(overflow: readonly PlannedNote[], file: string | undefined): string[] {
  if (overflow.length === 0 || file !== undefined) return [];
  return [
    `${counted(overflow.length, "entry", "entries")} had no room. --overflow FILE keeps such entries in a file; 'hermes memory remove' makes room.`,
  ];
}

function planJson(plan: readonly PlannedNote[], sources: readonly NoteSource[]): object {
  const counts = Object.fromEntries(
    statuses().flatMap((status) => {
      const count = plan.filter((note) => note.status === status).length;
      return count === 0 ? [] : [[status, count]];
    }),
  );
  return {
    files: sources.map(({ path, format, notes }) => ({ path, format: format.name, notes: notes.length })),
    counts,
    entries: plan.map(({ text, target, chars, status, reason, ids, format, path, place }) => ({
      text: shown(text),
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
