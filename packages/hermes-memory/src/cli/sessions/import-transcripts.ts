// `hermes sessions import --from`: the transcripts of other agents, once or as they grow.
import { mkdirSync } from "node:fs";
import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join, resolve, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { errnoCode, holdFileLock } from "@hermes-memory/core/internal/lib";
import { parseMoment } from "@hermes-memory/core/internal/sessions";
import {
  DEFAULT_PREPARE,
  dryTarget,
  type Filters,
  type ImportProgress,
  type ImportReport,
  importTranscripts,
  type Place,
  type PrepareOptions,
  READERS,
  readerNamed,
  type SourceReport,
  storeTarget,
  type TranscriptReader,
  type Wanted,
  watchTranscripts,
} from "@hermes-memory/import/internal";
import { type CommandContext, CommandFailure, type CommandInput, type CommandOutcome } from "../command.ts";
import { declined } from "../confirm.ts";
import { counted, printable } from "../printing.ts";
import { progressDisplay } from "./progress.ts";
import { databasePath, openOrMakeSessions, openSessions } from "./session-command.ts";

const AUTO = "auto";
const LISTED = 5;

export async function importFrom(
  input: CommandInput,
  context: CommandContext,
  wanted: readonly Wanted[],
): Promise<CommandOutcome> {
  const { io } = context;
  for (const { reader } of wanted) if (reader.isMessenger) checkChosen(reader, input);
  const filters = filtersOf(input);
  const prepare = prepareOptions(input);
  const isDry = input.flags["dry-run"] === true;
  // One at a time: two importers would read the same files and wait for each other at every write.
  let held = isDry ? undefined : await importLock(context);
  const release = (): void => {
    held?.[Symbol.dispose]();
    held = undefined;
  };
  using _lock = { [Symbol.dispose]: release };
  const store = isDry ? await openSessions(context, "read") : await openOrMakeSessions(context);
  const target = isDry || store === undefined ? dryTarget(store) : storeTarget(store);
  const progress = progressDisplay(io, { isVerbose: input.flags.verbose === true });
  const start = performance.now();
  const collect = garbageCollector();
  // Awaited here, because the lock goes when this function returns.
  return await io.untilInterrupted(async (signal) => {
    const deps = {
      target,
      prepare,
      signal,
      place: placeOf(context),
      now: Date.now,
      onProgress: (now: ImportProgress) => {
        collect(now.bytes);
        progress.show(
          { step: `importing ${now.source}`, done: now.bytes, total: now.totalBytes },
          progressText(now, performance.now() - start),
        );
      },
    };
    let report: ImportReport;
    try {
      report = await importTranscripts(wanted, filters, deps);
    } finally {
      progress.clear();
    }
    if (input.flags.watch !== true || isDry || signal.aborted) return reported(report, isDry, wanted);
    tell(context, report, reported(report, isDry, wanted).lines ?? []);
    io.note("Watching for new messages; Ctrl-C ends it.\n");
    release(); // the hooks of agents, and the user, can import between two rounds
    await watchTranscripts(
      wanted,
      filters,
      { ...deps, onProgress: undefined },
      {
        onChange: ({ report: news }) => tell(context, news, changedLines(news)),
        onTrouble: (reason) => io.note(`${onOneLine(reason)} Trying again.\n`),
        lock: () => {
          const locked = holdImportLock(context);
          return locked.ok ? locked.value : undefined;
        },
      },
    );
    return { json: undefined, lines: ["Stopped watching."] };
  });
}

/** A messenger holds the words of other people, so nothing of it is read by accident. */
function checkChosen({ title }: TranscriptReader, { flags }: CommandInput): void {
  const missing = ["me", "chat"].filter((name) => textFlag(flags[name]) === undefined);
  if (missing.length === 0) return;
  throw new CommandFailure(`${title}: say who you are and which chat to read.`, {
    exitCode: 2,
    hint: "Add --me YOUR_USER_ID and --chat NAME_OR_ID; a bot that answers you is --assistant ITS_ID.",
    details: { kind: "chat-not-chosen", missing },
  });
}

/** The sources that the user asked for. */
export async function wantedSources(
  input: CommandInput,
  context: CommandContext,
): Promise<readonly Wanted[] | CommandOutcome> {
  const names = namesOf(input);
  const paths = await pathsOf(input, context);
  const isExperimental = input.flags.experimental === true;
  if (names.includes(AUTO)) return autoSources(input, context, isExperimental);
  const readers = names.map((name) => readerNamed(ALIASES[name] ?? name) ?? unknownSource(name));
  if (paths.length > 0) return readers.map((reader) => ({ reader, paths }));
  for (const reader of readers)
    if (reader.roots(placeOf(context)).length === 0)
      throw new CommandFailure(`${reader.title} leaves no transcripts on this machine by itself.`, {
        exitCode: 2,
        hint: `Export your data there, then name the file: hermes sessions import --from ${reader.source} --path FILE`,
      });
  return readers.map((reader) => ({ reader }));
}

/** The sources of --from. */
export function namesOf({ flags }: CommandInput): string[] {
  return textList(flags.from).flatMap((text) => text.split(",").map((name) => name.trim()));
}

/** The files and folders of --path, which must exist. */
export async function pathsOf({ flags }: CommandInput, context: CommandContext): Promise<string[]> {
  const paths = textList(flags.path).map((path) => expanded(path, context));
  for (const path of paths) await checkReadable(path);
  return paths;
}

/** Other names for a source, as people say them. */
const ALIASES: Readonly<Record<string, string>> = {
  claude: "claude-code",
  gemini: "gemini-cli",
  copilot: "copilot-cli",
  qwen: "qwen-code",
  vscode: "vscode-chat",
  "roo-code": "roo",
};

type FoundSource = { readonly reader: TranscriptReader; readonly files: number; readonly bytes: number };

/** Looks in every place where a known product keeps transcripts, and asks before it reads any. */
async function autoSources(
  input: CommandInput,
  context: CommandContext,
  isExperimental: boolean,
): Promise<readonly Wanted[] | CommandOutcome> {
  const found: FoundSource[] = [];
  const place = { ...placeOf(context), withoutExperimental: !isExperimental };
  await context.io.untilInterrupted(async (signal) => {
    for (const reader of READERS) {
      if (reader.isExperimental && !isExperimental) continue;
      const one = await countUnits(reader, place, signal);
      if (one.files > 0) found.push(one);
    }
  });
  if (found.length === 0)
    return {
      json: { success: true, sources: [] },
      lines: [
        "No transcripts of other agents were found on this machine.",
        "If they are elsewhere: hermes sessions import --from SOURCE --path FOLDER",
      ],
    };
  const list = found.map(
    ({ reader, files, bytes }) =>
      `  ${reader.title.padEnd(24)} ${counted(files, "file")}, ${megabytes(bytes)}`,
  );
  const total = found.reduce((sum, { bytes }) => sum + bytes, 0);
  if (input.flags["dry-run"] !== true) {
    const answer = await declined(
      {
        list: ["Found on this machine:", ...list],
        question: `Import all of them (${megabytes(total)})?`,
        json: {
          sources: found.map(({ reader, files, bytes }) => ({ source: reader.source, files, bytes })),
        },
        isShort: true,
        untouched: "Nothing was imported",
      },
      input,
      context,
    );
    if (answer !== undefined) return answer;
  }
  return found.map(({ reader }) => ({ reader, paths: reader.roots(place) }));
}

async function countUnits(reader: TranscriptReader, place: Place, signal: AbortSignal): Promise<FoundSource> {
  let files = 0;
  let bytes = 0;
  for (const root of reader.roots(place))
    for await (const unit of reader.units(root, { signal, unreadable: () => {} })) {
      files += 1;
      for (const file of unit.stamps ?? [unit.path])
        bytes += (await stat(file).catch(() => undefined))?.size ?? 0;
    }
  return { reader, files, bytes };
}

function unknownSource(name: string): never {
  const known = READERS.map(({ source, isExperimental }) =>
    isExperimental ? `${source} (experimental)` : source,
  );
  throw new CommandFailure(`There is no source '${printable(name)}'.`, {
    exitCode: 2,
    hint: `Known sources: ${known.join(", ")}; or 'auto' to look for all of them.`,
  });
}

export function placeOf({ io }: CommandContext): Place {
  return {
    home: io.env.HOME ?? io.env.USERPROFILE ?? homedir(),
    env: io.env,
    platform: process.platform,
    cwd: process.cwd(),
  };
}

/** A path given as `~/x` in quotes is not expanded by the shell. */
function expanded(path: string, context: CommandContext): string {
  if (path === "~" || path.startsWith("~/")) return join(placeOf(context).home, path.slice(1));
  return resolve(path);
}

async function checkReadable(path: string): Promise<void> {
  let reason: string;
  try {
    const found = await stat(path);
    if (found.isFile() || found.isDirectory()) return;
    reason = "it is neither a file nor a folder";
  } catch (cause) {
    reason = errnoCode(cause) === "ENOENT" ? "there is no such file or folder" : String(errnoCode(cause));
  }
  throw new CommandFailure(`Cannot read ${onOneLine(path)}: ${reason}.`, {
    details: { kind: "unreadable" },
  });
}

/** One import into a home at a time. */
export function holdImportLock(context: CommandContext): ReturnType<typeof holdFileLock> {
  mkdirSync(context.home.home, { recursive: true, mode: 0o700 });
  return holdFileLock(`${databasePath(context)}.import.lock`);
}

/** A round of `--watch` is short, so it is waited for. */
const LOCK_WAIT_MS = 3000;
const LOCK_LOOK_MS = 100;

export async function importLock(context: CommandContext): Promise<Disposable> {
  for (const end = performance.now() + LOCK_WAIT_MS; ; await sleep(LOCK_LOOK_MS)) {
    const held = holdImportLock(context);
    if (held.ok) return held.value;
    if (performance.now() >= end) break;
  }
  throw new CommandFailure("Another import into this home is running.", {
    hint: "Wait until it ends, then run the command again.",
    details: { kind: "import-running" },
  });
}

function textList(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function textFlag(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function prepareOptions({ flags }: CommandInput): PrepareOptions {
  const tools = flags.tools;
  const redact = flags.redact;
  return {
    tools: tools === "full" || tools === "none" ? tools : DEFAULT_PREPARE.tools,
    redact: redact === "all" || redact === "none" ? redact : DEFAULT_PREPARE.redact,
    includeBranches: flags["no-branches"] !== true,
    includeReasoning: flags["include-reasoning"] === true,
    includeSystem: flags["include-system"] === true,
    includeMemoryDisabled: flags["include-memory-disabled"] === true,
    me: textFlag(flags.me),
    assistant: textFlag(flags.assistant),
    chat: textFlag(flags.chat),
  };
}

export function filtersOf({ flags }: CommandInput): Filters {
  return {
    since: momentOf("since", flags.since),
    until: momentOf("until", flags.until),
    project: projectFilter(textList(flags.project), textList(flags["exclude-project"])),
    includeSubagents: flags["no-subagents"] !== true,
    limit: typeof flags.limit === "number" ? flags.limit : undefined,
    force: flags.force === true,
  };
}

function momentOf(flag: string, value: unknown): number | undefined {
  if (typeof value !== "string") return undefined;
  const moment = parseMoment(value, new Date());
  if (moment !== undefined) return moment;
  throw new CommandFailure(`--${flag} '${printable(value)}' is not a time.`, {
    exitCode: 2,
    hint: "Write a date (2026-01-31), a span before now (12h, 7d), today or yesterday.",
  });
}

/** A name matches a folder at any depth of the working directory; a path matches it and what is below; `*` stands for any letters. */
function projectFilter(wanted: readonly string[], excluded: readonly string[]): Filters["project"] {
  if (wanted.length === 0 && excluded.length === 0) return undefined;
  const matches = (cwd: string, pattern: string): boolean => {
    const glob = new RegExp(
      `^${pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`,
      process.platform === "win32" ? "i" : "",
    );
    if (isAbsolute(pattern))
      return glob.test(cwd) || cwd.startsWith(pattern.endsWith(sep) ? pattern : pattern + sep);
    return cwd.split(/[/\\]/).some((folder) => glob.test(folder)) || glob.test(cwd);
  };
  const has = (cwd: string | undefined): boolean => {
    if (cwd === undefined) return wanted.length === 0;
    if (excluded.some((pattern) => matches(cwd, pattern))) return false;
    return wanted.length === 0 || wanted.some((pattern) => matches(cwd, pattern));
  };
  return { name: JSON.stringify([wanted, excluded]), has };
}

const COLLECT_AFTER_BYTES = 32 * 1024 ** 2;

/**
 * Almost everything that was read is garbage at once. On a machine with much memory V8 would let it grow to hundreds of megabytes before it
 * collects; with a small live heap, collecting costs milliseconds.
 */
function garbageCollector(): (bytes: number) => void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  let last = 0;
  return (bytes) => {
    if (bytes - last < COLLECT_AFTER_BYTES || typeof collect !== "function") return;
    last = bytes;
    collect({ type: "major", flavor: "last-resort" });
  };
}

// ---- What the user sees ----

/** `importing codex  312 of 1024 MB (30 %), 21 MB/s, 34 s left, 120 sessions` */
function progressText({ source, bytes, totalBytes, sessions }: ImportProgress, elapsedMs: number): string {
  const share = totalBytes > 0 ? Math.floor((bytes / totalBytes) * 100) : 0;
  const perSecond = elapsedMs > 0 ? (bytes / elapsedMs) * 1000 : 0;
  const left = perSecond > 0 ? Math.ceil((totalBytes - bytes) / perSecond) : undefined;
  return [
    `importing ${source}  ${Math.round(bytes / 1e6)} of ${Math.round(totalBytes / 1e6)} MB (${share} %)`,
    `${(perSecond / 1e6).toFixed(perSecond < 1e7 ? 1 : 0)} MB/s`,
    ...(left === undefined ? [] : [`${duration(left)} left`]),
    counted(sessions, "session"),
  ].join(", ");
}

function duration(seconds: number): string {
  return seconds < 100 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

function megabytes(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

/** Unlike `printable`: a file name may hold a line break, and what follows it would look like a line of ours. */
function onOneLine(text: string): string {
  return printable(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

function tell({ io, isJson }: CommandContext, report: ImportReport, lines: readonly string[]): void {
  io.out(isJson ? `${JSON.stringify(reportJson(report, false))}\n` : `${lines.join("\n")}\n`);
}

function changedLines({ sources }: ImportReport): string[] {
  return sources.flatMap(
    ({ source, sessionsAdded, sessionsUpdated, messagesAdded, messagesUpdated, errors }) => [
      ...(sessionsAdded + sessionsUpdated === 0
        ? []
        : [
            `${new Date().toLocaleTimeString()}  ${source}: ${counted(messagesAdded, "new message")}` +
              `${messagesUpdated > 0 ? `, ${messagesUpdated} changed` : ""}` +
              ` in ${counted(sessionsAdded + sessionsUpdated, "session")}`,
          ]),
      ...errors.slice(0, LISTED).map(({ path, message }) => `  ${onOneLine(path)}: ${onOneLine(message)}`),
    ],
  );
}

function reported(report: ImportReport, isDry: boolean, wanted: readonly Wanted[]): CommandOutcome {
  const paths = [...new Set(wanted.flatMap((one) => one.paths ?? []))];
  const isNothing = paths.length > 0 && report.sources.every(({ files }) => files === 0);
  const hasFailed = isNothing || report.sources.some(({ errors }) => errors.length > 0);
  const titles = new Map(wanted.map(({ reader }) => [reader.source, reader.title]));
  return {
    json: { ...reportJson(report, isDry), ...(isNothing ? { success: false, kind: "no-transcripts" } : {}) },
    lines: [
      ...report.sources.flatMap((source) =>
        sourceLines(source, titles.get(source.source) ?? source.source, isDry),
      ),
      ...(isDry ? ["Nothing was written (--dry-run)."] : []),
    ],
    notes: report.isStopped
      ? ["Stopped. The same command goes on where this stopped."]
      : isNothing
        ? [
            `There are no transcripts of ${[...titles.values()].join(" or ")} in ${paths.map(onOneLine).join(", ")}.`,
          ]
        : [],
    exitCode: report.isStopped ? 130 : hasFailed ? 1 : 0,
  };
}

function reportJson({ sources, isStopped }: ImportReport, isDry: boolean): object {
  return {
    success: !isStopped && sources.every(({ errors }) => errors.length === 0),
    ...(isDry ? { dry_run: true } : {}),
    ...(isStopped ? { kind: "interrupted" } : {}),
    sources: sources.map((one) => ({
      source: one.source,
      files: one.files,
      unchanged: one.unchanged,
      bytes: one.bytes,
      sessions_added: one.sessionsAdded,
      sessions_updated: one.sessionsUpdated,
      sessions_unchanged: one.sessionsUnchanged,
      messages_added: one.messagesAdded,
      messages_updated: one.messagesUpdated,
      skipped: one.skipped,
      malformed_lines: one.malformedLines,
      malformed: one.malformed,
      unknown_types: one.unknownTypes,
      errors: one.errors,
    })),
  };
}

function sourceLines(one: SourceReport, title: string, isDry: boolean): string[] {
  const skipped = Object.entries(one.skipped);
  const unknown = Object.entries(one.unknownTypes);
  const changes = [
    `${counted(one.sessionsAdded, "new session")}`,
    ...(one.sessionsUpdated > 0 ? [`${one.sessionsUpdated} updated`] : []),
    ...(one.sessionsUnchanged > 0 ? [`${one.sessionsUnchanged} unchanged`] : []),
    counted(
      one.messagesAdded,
      isDry ? "message to add" : "message added",
      isDry ? "messages to add" : "messages added",
    ),
    ...(one.messagesUpdated > 0 ? [`${one.messagesUpdated} changed`] : []),
  ];
  return [
    `${title}: ${changes.join(", ")}.`,
    `  ${counted(one.files, "file")}, ${one.unchanged} unchanged since the last import, ${megabytes(one.bytes)} read.`,
    ...(skipped.length === 0
      ? []
      : [`  Left out: ${skipped.map(([why, times]) => `${times} (${printable(why)})`).join(", ")}.`]),
    ...(one.malformedLines === 0
      ? []
      : [
          `  ${counted(one.malformedLines, "line")} could not be read and ${one.malformedLines === 1 ? "was" : "were"} left out:`,
        ]),
    ...one.malformed
      .slice(0, LISTED)
      .map(({ path, line, reason }) => `    ${onOneLine(path)}:${line}  ${onOneLine(reason)}`),
    ...(unknown.length === 0
      ? []
      : [
          `  Unknown records were left out: ${unknown
            .map(([type, times]) => `${times} '${onOneLine(type)}'`)
            .slice(0, LISTED)
            .join(", ")}.`,
        ]),
    ...(one.errors.length === 0
      ? []
      : [`  ${counted(one.errors.length, "file or folder", "files or folders")} could not be read:`]),
    ...one.errors
      .slice(0, LISTED)
      .map(({ path, message }) => `    ${onOneLine(path)}: ${onOneLine(message)}`),
  ];
}
