// `hermes export`: sessions and memory as files that people and other programs read. One session is in memory at a time.
import { existsSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { entryIds, fileNameOf, MEMORY_TARGETS, type MemoryStore } from "@hermes-memory/core/internal/curated";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { type ExportedSession, parseMoment, type SessionStore } from "@hermes-memory/core/internal/sessions";
import {
  type CommandBody,
  type CommandContext,
  type CommandInput,
  type CommandOutcome,
  usageFailure,
} from "../command.ts";
import { counted, printable } from "../printing.ts";
import { progressDisplay } from "../sessions/progress.ts";
import {
  findSession,
  noDatabaseNote,
  notFoundAnywhere,
  openSessions,
  textFlag,
} from "../sessions/session-command.ts";
import { chatGptConversation } from "./chatgpt-conversation.ts";
import { redactedSession, shownMessages } from "./exported-message.ts";
import { headingText, isoTime, markdownName, markdownSession } from "./markdown-session.ts";
import { type OutputFile, type StagedOutput, stagedOutput } from "./staged-output.ts";

const FORMATS = ["markdown", "jsonl", "chatgpt"] as const;
type Format = (typeof FORMATS)[number];

export const exportAll: CommandBody = async (input, context) => {
  const wanted = wantedOf(input);
  const store = await openSessions(context, "read");
  if (store === undefined && wanted.sessionId !== undefined)
    throw notFoundAnywhere(wanted.sessionId, context);
  const notes = store === undefined ? [noDatabaseNote(context)] : [];
  const memories = wanted.withMemory ? await openMemories(context) : [];
  return context.io.untilInterrupted(async (signal) => {
    const { folder, names } = wanted.place;
    await using output = await stagedOutput(folder, names, input.flags.force === true);
    const progress = progressDisplay(context.io, { isVerbose: input.flags.verbose === true });
    let written: Written;
    try {
      const total = (await store?.sessionCount({ includeArchived: true })) ?? 0;
      const sessions = store === undefined ? nothing() : selected(store, wanted);
      written = await writeSessions(
        counting(sessions, signal, (done) => progress.show({ step: "exporting sessions", done, total })),
        output,
        wanted,
      );
    } finally {
      progress.clear();
    }
    if (signal.aborted)
      return {
        json: { success: false, kind: "interrupted" },
        lines: ["Stopped. Nothing was written."],
        exitCode: 130,
      };
    const entries = await writeMemory(memories, output, wanted);
    const { files, bytes } = await output.finish();
    return reported({ ...written, entries, files, bytes }, wanted, notes);
  });
};

// ---- What the user asked for ----

type Wanted = {
  readonly format: Format;
  readonly out: string;
  readonly place: { readonly folder: string; readonly names: readonly string[] | undefined };
  readonly sessionsFile: string;
  readonly memoryFile: string;
  readonly source: string | undefined;
  readonly since: number | undefined;
  readonly sessionId: string | undefined;
  readonly withMemory: boolean;
  /** Also turns that were taken back. */
  readonly all: boolean;
  readonly redact: boolean;
};

function wantedOf(input: CommandInput): Wanted {
  const out = input.args.out ?? "";
  const format = FORMATS.find((one) => one === (input.flags.format ?? "markdown")) ?? "markdown";
  const extension = format === "jsonl" ? ".jsonl" : ".json";
  const isFile = format !== "markdown" && extname(out).toLowerCase() === extension;
  const stem = basename(out, extname(out));
  const sessionsFile = isFile ? basename(out) : format === "jsonl" ? "sessions.jsonl" : "conversations.json";
  const memoryFile = isFile ? `${stem}.memory.jsonl` : "memory.jsonl";
  const withMemory = input.flags["no-memory"] !== true;
  const since = textFlag(input, "since");
  const moment = since === undefined ? undefined : parseMoment(since, new Date());
  if (since !== undefined && moment === undefined)
    throw usageFailure(`--since '${printable(since)}' is not a time.`, {
      hint: "Write a date (2026-01-31), a span before now (12h, 7d), today or yesterday.",
    });
  return {
    format,
    out,
    place: isFile
      ? { folder: dirname(resolve(out)), names: withMemory ? [sessionsFile, memoryFile] : [sessionsFile] }
      : { folder: out, names: undefined },
    sessionsFile,
    memoryFile,
    source: textFlag(input, "source"),
    since: moment,
    sessionId: textFlag(input, "session-id"),
    withMemory,
    all: input.flags.all === true,
    redact: input.flags.redact === true,
  };
}

async function* selected(
  store: SessionStore,
  { sessionId, source, since, redact }: Wanted,
): AsyncGenerator<ExportedSession> {
  const shown = (session: ExportedSession): ExportedSession => (redact ? redactedSession(session) : session);
  if (sessionId !== undefined) {
    const { id } = await findSession(store, sessionId);
    const found = await store.exportSession(id, { includeInactive: true });
    if (found !== null) yield shown(found);
    return;
  }
  for await (const { last_active: lastActive, ...session } of store.exportEach({
    source,
    includeInactive: true,
  }))
    if (since === undefined || lastActive >= since) yield shown(session);
}

async function* nothing(): AsyncGenerator<ExportedSession> {}

async function* counting(
  sessions: AsyncIterable<ExportedSession>,
  signal: AbortSignal,
  onEach: (done: number) => void,
): AsyncGenerator<ExportedSession> {
  let done = 0;
  for await (const session of sessions) {
    if (signal.aborted) return;
    yield session;
    done += 1;
    onEach(done);
  }
}

// ---- Sessions ----

type Written = { readonly sessions: number; readonly messages: number };

function writeSessions(
  sessions: AsyncIterable<ExportedSession>,
  output: StagedOutput,
  wanted: Wanted,
): Promise<Written> {
  switch (wanted.format) {
    case "markdown":
      return writeMarkdown(sessions, output, wanted);
    case "jsonl":
      return writeLines(sessions, output, wanted);
    case "chatgpt":
      return writeConversations(sessions, output, wanted);
    default:
      return wanted.format satisfies never;
  }
}

async function writeMarkdown(
  sessions: AsyncIterable<ExportedSession>,
  output: StagedOutput,
  { all }: Wanted,
): Promise<Written> {
  const taken = new Set<string>();
  const index = await output.open("index.md");
  let count = 0;
  let messages = 0;
  await index.write("# Conversations\n\nThe most recently active first.\n\n");
  for await (const session of sessions) {
    const shown = shownMessages(session, { all });
    const name = freeName(markdownName(session), taken);
    const file = await output.open(name);
    for (const piece of markdownSession(session, shown)) await file.write(piece);
    await file.close();
    const link = name.split("/").map(encodeURIComponent).join("/");
    await index.write(
      `- ${isoTime(session.started_at).slice(0, 10)} [${headingText(session.title ?? session.id)}](${link}), ${session.source}, ${counted(shown.length, "message")}\n`,
    );
    count += 1;
    messages += shown.length;
  }
  await index.close();
  return { sessions: count, messages };
}

/** Ids may differ only in characters that a file name cannot have. */
function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let number = 2; taken.has(free.toLowerCase()); number += 1)
    free = name.replace(/\.md$/, `-${number}.md`);
  taken.add(free.toLowerCase());
  return free;
}

/** The same lines as `hermes sessions export`. Turns that a compaction replaced are part of the conversation. */
async function writeLines(
  sessions: AsyncIterable<ExportedSession>,
  output: StagedOutput,
  { all, sessionsFile }: Wanted,
): Promise<Written> {
  const file = await output.open(sessionsFile);
  let count = 0;
  let written = 0;
  for await (const { messages, ...session } of sessions) {
    const kept = messages.filter(({ active, compacted }) => all || active !== 0 || compacted === 1);
    await file.write(`${JSON.stringify(session).slice(0, -1)},"messages":[`);
    for (const [at, message] of kept.entries())
      await file.write(`${at === 0 ? "" : ","}${JSON.stringify(message)}`);
    await file.write("]}\n");
    count += 1;
    written += kept.length;
  }
  await file.close();
  return { sessions: count, messages: written };
}

async function writeConversations(
  sessions: AsyncIterable<ExportedSession>,
  output: StagedOutput,
  { all, sessionsFile }: Wanted,
): Promise<Written> {
  const file = await output.open(sessionsFile);
  let count = 0;
  let messages = 0;
  await file.write("[");
  for await (const session of sessions) {
    const shown = shownMessages(session, { all });
    await file.write(`${count === 0 ? "\n" : ",\n"}${JSON.stringify(chatGptConversation(session, shown))}`);
    count += 1;
    messages += shown.length;
  }
  await file.write("\n]\n");
  await file.close();
  return { sessions: count, messages };
}

// ---- Memory ----

/** `user`: the name of the user's directory, which does not reveal the user's id; undefined for the owner. */
type Memory = { readonly store: MemoryStore; readonly user?: string };

async function openMemories({ memory: { administrator } }: CommandContext): Promise<Memory[]> {
  const open = (directory: string): Promise<MemoryStore> =>
    administrator.curatedIn(directory, { isLoaded: existsSync(directory) }); // loading would create it
  const memories: Memory[] = [{ store: await open(administrator.directory) }];
  for (const user of administrator.userDirectories())
    memories.push({ store: await open(join(administrator.directory, "users", user)), user });
  return memories;
}

/** Returns the number of entries, those in the archive included. */
async function writeMemory(
  memories: readonly Memory[],
  output: StagedOutput,
  wanted: Wanted,
): Promise<number> {
  if (memories.length === 0) return 0;
  const shown = (text: string): string => (wanted.redact ? redactSecrets(text) : text);
  const isMarkdown = wanted.format === "markdown";
  const lines = await output.open(isMarkdown ? "memory/entries.jsonl" : wanted.memoryFile);
  let count = 0;
  for (const { store, user } of memories)
    for (const target of MEMORY_TARGETS) {
      const entries = store.readEntries(target);
      const ids = entryIds(target, entries);
      for (const [at, text] of entries.entries())
        await writeLine(lines, { target, id: ids[at], text: shown(text), archived: false, user });
      const archived = store.archived(target);
      for (const { id, text } of archived)
        await writeLine(lines, { target, id, text: shown(text), archived: true, user });
      count += entries.length + archived.length;
      if (!isMarkdown || (user !== undefined && entries.length === 0)) continue;
      const folder = user === undefined ? "memory" : `memory/users/${user}`;
      const file = await output.open(`${folder}/${fileNameOf(target)}`);
      await file.write(entries.map(shown).join("\n§\n"));
      await file.close();
    }
  await lines.close();
  return count;
}

function writeLine(file: OutputFile, value: object): Promise<void> {
  return file.write(`${JSON.stringify(value)}\n`);
}

// ---- What the user sees ----

type Totals = Written & { readonly entries: number; readonly files: number; readonly bytes: number };

function reported(
  { sessions, messages, entries, files, bytes }: Totals,
  { format, out, withMemory }: Wanted,
  notes: readonly string[],
): CommandOutcome {
  const memory = withMemory ? ` and ${counted(entries, "memory entry", "memory entries")}` : "";
  return {
    json: { success: true, path: out, format, sessions, messages, memory_entries: entries, files, bytes },
    lines: [
      `Exported ${counted(sessions, "session")} with ${counted(messages, "message")}${memory} to ${printable(out)} (${counted(files, "file")}, ${Math.ceil(bytes / 1000)} kB).`,
    ],
    notes,
  };
}
