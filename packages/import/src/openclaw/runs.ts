// The folders of migration runs below the Hermes home: where the next run writes, what earlier runs reported, and what they left to rename.
import { lstatSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { describeCause, isWithin, outsideJsonOr, readTextFile } from "@hermes-memory/core/internal/lib";
import { numberOf, recordOf, recordsOf, textOf } from "../transcripts/kit/values.ts";
import { foldersAt, namesOf, realpathOf } from "./source-files.ts";

type EarlierRun = NonNullable<ReturnType<typeof runIn>>;

function runsDirectory(home: string): string {
  return join(home, "migration", "openclaw");
}

/** Oldest first. A run whose report cannot be read is left out. */
function earlierRuns(home: string, outputDirectory?: string): EarlierRun[] {
  const runs = foldersAt(runsDirectory(home)).flatMap((folder) => runIn(folder) ?? []);
  const given = outputDirectory === undefined ? undefined : runIn(outputDirectory);
  return given === undefined || given.isBare ? runs : [...runs, given];
}

function runIn(folder: string) {
  const text = readTextFile(join(folder, "report.json"));
  if (!text.ok) return undefined;
  const isBare = text.value === undefined;
  const report = isBare ? {} : recordOf(outsideJsonOr(text.value, undefined));
  if (report === undefined) return undefined;
  return {
    folder,
    /** It was killed before it had written a report, so it has done nothing. */
    isBare,
    /** The process ended before the run did. */
    isInterrupted: report.state === "started",
    // Hermes' own migration writes no `state`, because it writes its report at the end, and reports dry runs too.
    isFinished: report.state !== "started" && report.mode === "execute",
    sourceRoot: textOf(report.source_root),
    /** Where its archive is: another folder after `--output-dir`. */
    output: textOf(report.output_dir) ?? folder,
    errors: numberOf(recordOf(report.summary)?.error) ?? 0,
    hasSessions: recordsOf(report.items).some(
      ({ kind, status }) => kind === "sessions" && status === "migrated",
    ),
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
  const folder = outputDirectory ?? interrupted?.folder ?? newFolder(home, now);
  return { folder, isContinued: interrupted?.folder === folder };
}

function newFolder(home: string, now: Date): string {
  return freePath(join(runsDirectory(home), stampOf(now).replaceAll("-", "")));
}

/** Undefined for a run below the home; else the folder there that keeps a copy of its report, for later runs and the cleanup. */
export function recordFolder(home: string, output: string, now: Date): string | undefined {
  return isWithin(runsDirectory(home), output) ? undefined : newFolder(home, now);
}

/** `archive` folders of every run. */
export function archiveFolders(home: string, output: string): string[] {
  const folders = earlierRuns(home).flatMap((run) => [run.folder, run.output]);
  return [...new Set([output, ...folders])].map((folder) => join(folder, "archive"));
}

/** `2026-11-17T001530`, local time. */
export function stampOf(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`;
}

/** With a number behind it where something has this name, if only a link that leads nowhere. */
export function freePath(wanted: string, extension = ""): string {
  let path = wanted + extension;
  for (let count = 2; isTaken(path); count += 1) path = `${wanted}-${count}${extension}`;
  return path;
}

function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isSameFolder(one: string | undefined, other: string): boolean {
  return one !== undefined && (one === other || (realpathOf(one) ?? one) === (realpathOf(other) ?? other));
}

// ---- What is left of OpenClaw ----

export type Leftover = ReturnType<typeof describeLeftover>;

/** An OpenClaw folder that may be renamed, so that no program takes it for a current one. */
export function describeLeftover(folder: string, home: string, now: Date) {
  const runs = earlierRuns(home).filter(({ sourceRoot }) => isSameFolder(sourceRoot, folder));
  const agents = foldersAt(join(folder, "agents"));
  const hasSessions = agents.some((agent) => namesOf(join(agent, "sessions")).length > 0);
  const plain = `${folder}.pre-migration`;
  const dated = `${plain}-${stampOf(now).slice(0, 10).replaceAll("-", "")}`;
  return {
    folder,
    renamedTo: isTaken(plain) ? freePath(dated) : plain,
    /** A run without errors has migrated this folder. */
    isMigrated: runs.some(({ isFinished, errors }) => isFinished && errors === 0),
    /** It has transcripts, and no run has imported any. */
    hasUnimportedSessions: hasSessions && !runs.some((run) => run.hasSessions),
  };
}

/** The error, or undefined when the folder was renamed. */
export function renameLeftover({ folder, renamedTo }: Leftover): string | undefined {
  try {
    if (isTaken(renamedTo)) return `${basename(renamedTo)} exists already`;
    renameSync(folder, renamedTo);
    return undefined;
  } catch (cause) {
    return describeCause(cause);
  }
}
