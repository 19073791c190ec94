// The folders of migration runs below the Hermes home: where the next run writes, and what earlier runs reported.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isRecord, outsideJsonOr, readTextFile } from "@hermes-memory/core/internal/lib";
import { listOf, recordOf, textOf } from "../transcripts/kit/values.ts";
import { isFolder, isWithin, realpathOf } from "./source-files.ts";

export type EarlierRun = {
  readonly folder: string;
  readonly sourceRoot: string | undefined;
  /** It was killed before it had written a report, so it has done nothing. */
  readonly isBare: boolean;
  /** False when the process ended before the run did, and for a dry run of Hermes' own migration. */
  readonly isFinished: boolean;
  /** The process ended before the run did. */
  readonly isInterrupted: boolean;
  /** Where its archive is: another folder after `--output-dir`. */
  readonly output: string;
  readonly errors: number;
  readonly hasSessions: boolean;
};

function runsDirectory(home: string): string {
  return join(home, "migration", "openclaw");
}

/** Oldest first. A run whose report cannot be read is left out. */
export function earlierRuns(home: string, outputDirectory?: string): EarlierRun[] {
  const directory = runsDirectory(home);
  const folders = foldersIn(directory).map((name) => join(directory, name));
  const runs = folders.flatMap((folder) => runIn(folder) ?? []);
  const given = outputDirectory === undefined ? undefined : runIn(outputDirectory);
  return given === undefined || given.isBare ? runs : [...runs, given];
}

const NOTHING_DONE = {
  sourceRoot: undefined,
  isBare: true,
  isFinished: false,
  isInterrupted: false,
  errors: 0,
  hasSessions: false,
};

function runIn(folder: string): EarlierRun | undefined {
  const text = readTextFile(join(folder, "report.json"));
  if (!text.ok) return undefined;
  if (text.value === undefined) return { ...NOTHING_DONE, folder, output: folder };
  const report = recordOf(outsideJsonOr(text.value, undefined));
  if (report === undefined) return undefined;
  const errors = recordOf(report.summary)?.error;
  const items = listOf(report.items).filter(isRecord);
  return {
    folder,
    sourceRoot: textOf(report.source_root),
    isBare: false,
    // Hermes' own migration writes no `state`, because it writes its report at the end.
    isFinished: report.state !== "started" && report.mode === "execute",
    isInterrupted: report.state === "started",
    output: textOf(report.output_dir) ?? folder,
    errors: typeof errors === "number" ? errors : 0,
    hasSessions: items.some(({ kind, status }) => kind === "sessions" && status === "migrated"),
  };
}

/** Continues the folder of an interrupted run of the same source, else takes a new name. */
export function outputFolder(request: {
  readonly home: string;
  readonly sourceRoot: string;
  readonly now: Date;
  readonly outputDirectory?: string;
}): { readonly folder: string; readonly isContinued: boolean } {
  const { home, sourceRoot, now, outputDirectory } = request;
  const interrupted = earlierRuns(home, outputDirectory).find(
    (run) => run.isBare || (run.isInterrupted && isSameFolder(run.sourceRoot, sourceRoot)),
  );
  if (outputDirectory !== undefined)
    return { folder: outputDirectory, isContinued: interrupted?.folder === outputDirectory };
  if (interrupted !== undefined) return { folder: interrupted.folder, isContinued: true };
  return { folder: newFolder(home, now), isContinued: false };
}

function newFolder(home: string, now: Date): string {
  const stem = join(runsDirectory(home), stampOf(now).replaceAll("-", ""));
  let folder = stem;
  for (let count = 2; existsSync(folder); count += 1) folder = `${stem}-${count}`;
  return folder;
}

/** Undefined for a run below the home; else the folder there that keeps a copy of its report, for later runs and the cleanup. */
export function recordFolder(home: string, output: string, now: Date): string | undefined {
  return isWithin(runsDirectory(home), output) ? undefined : newFolder(home, now);
}

/** `archive` folders of every run. */
export function archiveFolders(home: string, output: string): string[] {
  const directory = runsDirectory(home);
  const elsewhere = earlierRuns(home).map((run) => run.output);
  const folders = new Set([
    output,
    ...foldersIn(directory).map((name) => join(directory, name)),
    ...elsewhere,
  ]);
  return [...folders].map((folder) => join(folder, "archive"));
}

/** `2026-11-17T001530`, local time. */
export function stampOf(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`;
}

export function isSameFolder(one: string | undefined, other: string): boolean {
  return one !== undefined && (one === other || (realpathOf(one) ?? one) === (realpathOf(other) ?? other));
}

function foldersIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => !name.startsWith(".") && isFolder(join(directory, name)));
  } catch {
    return []; // no run yet
  }
}
