// What `hermes sessions import --from` reads: sources, their places on this machine, filters.
import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join, resolve, sep } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import {
  DEFAULT_PREPARE,
  type Filters,
  type Place,
  type PrepareOptions,
  READERS,
  readerNamed,
  type TranscriptReader,
  type Wanted,
} from "@hermes-memory/import/internal";
import { type CommandContext, CommandFailure, type CommandInput, usageFailure } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { flat, printable, sizeText } from "../printing.ts";
import { render } from "../render.ts";
import { listFlag, momentFlag, textFlag } from "./session-command.ts";

const AUTO = "auto";

/** The sources that the user asked for; none when `auto` found none. */
export async function wantedSources(
  input: CommandInput,
  context: CommandContext,
): Promise<readonly Wanted[]> {
  const names = namesOf(input);
  const paths = await pathsOf(input, context);
  const isExperimental = input.flags.experimental === true;
  if (names.includes(AUTO)) return autoSources(input, context, isExperimental);
  const readers = names.map((name) => readerNamed(ALIASES[name] ?? name) ?? unknownSource(name));
  if (paths.length > 0) return readers.map((reader) => ({ reader, paths }));
  for (const reader of readers)
    if (reader.roots(placeOf(context)).length === 0)
      throw usageFailure(`${reader.title} leaves no transcripts on this machine by itself.`, {
        hint: `Export your data there, then name the file: hermes sessions import --from ${reader.source} --path FILE`,
      });
  return readers.map((reader) => ({ reader }));
}

/** The sources of --from. */
export function namesOf(input: CommandInput): string[] {
  return listFlag(input, "from").flatMap((text) => text.split(",").map((name) => name.trim()));
}

/** The files and folders of --path, which must exist. */
export async function pathsOf(input: CommandInput, context: CommandContext): Promise<string[]> {
  const paths = listFlag(input, "path").map((path) => expanded(path, context));
  for (const path of paths) {
    const found = await stat(path).catch((cause: unknown) => Promise.reject(unreadable(path, cause)));
    if (!found.isFile() && !found.isDirectory()) throw unreadable(path, "it is neither a file nor a folder");
  }
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
): Promise<readonly Wanted[]> {
  const found: FoundSource[] = [];
  const place = { ...placeOf(context), withoutExperimental: !isExperimental };
  await context.io.untilInterrupted(async (signal) => {
    for (const reader of READERS) {
      if (reader.isExperimental && !isExperimental) continue;
      const one = await countUnits(reader, place, signal);
      if (one.files > 0) found.push(one);
    }
  });
  if (found.length === 0) return [];
  const sources = found.map(({ reader, files, bytes }) => ({ source: reader.source, files, bytes }));
  const total = found.reduce((sum, { bytes }) => sum + bytes, 0);
  if (input.flags["dry-run"] !== true) {
    const list = ["Found on this machine:", ...render(sources, context.io.paint)];
    const question = `Import all of them (${sizeText(total)})?`;
    const untouched = "Nothing was imported";
    await confirmed({ list, question, json: { sources }, isShort: true, untouched }, input, context);
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
  throw usageFailure(`There is no source '${printable(name)}'.`, {
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
export function expanded(path: string, context: CommandContext): string {
  if (path === "~" || path.startsWith("~/")) return join(placeOf(context).home, path.slice(1));
  return resolve(path);
}

export function unreadable(path: string, cause: unknown): CommandFailure {
  const message = `Cannot read ${flat(path)}: ${flat(describeCause(cause))}.`;
  return new CommandFailure(message, { details: { kind: "unreadable" } });
}

/** A messenger holds the words of other people, so nothing of it is read by accident. */
export function checkChosen({ reader: { title, isMessenger } }: Wanted, { flags }: CommandInput): void {
  if (!isMessenger) return;
  const missing = ["me", "chat"].filter((name) => flags[name] === undefined);
  if (missing.length === 0) return;
  throw usageFailure(`${title}: say who you are and which chat to read.`, {
    hint: "Add --me YOUR_USER_ID and --chat NAME_OR_ID; a bot that answers you is --assistant ITS_ID.",
    kind: "chat-not-chosen",
    missing,
  });
}

export function prepareOptions(input: CommandInput): PrepareOptions {
  const { flags } = input;
  return {
    tools: (flags.tools as PrepareOptions["tools"] | undefined) ?? DEFAULT_PREPARE.tools, // the parser refuses other words
    redact: (flags.redact as PrepareOptions["redact"] | undefined) ?? DEFAULT_PREPARE.redact,
    includeBranches: flags["no-branches"] !== true,
    includeReasoning: flags["include-reasoning"] === true,
    includeSystem: flags["include-system"] === true,
    includeMemoryDisabled: flags["include-memory-disabled"] === true,
    me: textFlag(input, "me"),
    assistant: textFlag(input, "assistant"),
    chat: textFlag(input, "chat"),
  };
}

export function filtersOf(input: CommandInput): Filters {
  const { flags } = input;
  return {
    since: momentFlag(input, "since"),
    until: momentFlag(input, "until"),
    project: projectFilter(listFlag(input, "project"), listFlag(input, "exclude-project")),
    includeSubagents: flags["no-subagents"] !== true,
    limit: flags.limit as number | undefined,
    force: flags.force === true,
  };
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
