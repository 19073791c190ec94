// Claude Code: `projects/<folder>/<session>.jsonl`, one record per line, with subagents in files of their own. Also Claude Cowork.

import { open, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isWithin } from "@hermes-memory/core/internal/lib";
import { isClientSummary, strippedUserText } from "@hermes-memory/core/internal/security";
import { type Draft, format, isKept, names, type Said } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { recordAt } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { ANTHROPIC_COUNTS, usageOf } from "../kit/parts.ts";
import { configFolder } from "../kit/places.ts";
import { type Json, numberOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Place, Reading, Sample, SessionFacts, Unit, Usage, Walking } from "../reader.ts";
import { Copies, RecordTree } from "./claude-code-branches.ts";

/** Records without words of the conversation. */
const SILENT_TYPES = names(`
  progress queue-operation file-history-snapshot last-prompt tag agent-name agent-color agent-setting mode
  permission-mode worktree-state pr-link bridge-session attribution-snapshot atis-latch cost-state api-request api-request-shape api-request-blob
`);
const ENVELOPE_TYPES = names("user assistant system attachment progress");

export const claudeCode = format({
  source: "claude-code",
  title: "Claude Code",
  evidence: "F",
  roots,
  units,
  recognises,
  async *read({ path }, reading) {
    const transcript = new Transcript(path, reading);
    transcript.main.titles.notes = await coworkTitle(path);
    for await (const { line, value } of jsonLines(path, reading)) {
      await transcript.take(value, line);
      yield* transcript.said.splice(0);
    }
    await transcript.finish();
    yield* transcript.said;
  },
});

function recognises({ first: record }: Sample): boolean {
  const type = textOf(record.type) ?? "";
  if (type === "summary") return textOf(record.leafUuid) !== undefined;
  if (type === "file-history-snapshot") return recordOf(record.snapshot) !== undefined;
  if (SILENT_TYPES.has(type) || type === "custom-title" || type === "ai-title")
    return textOf(record.sessionId) !== undefined;
  // Qwen Code uses the same envelope.
  const isOtherProduct =
    recordOf(record.message)?.parts !== undefined || recordOf(record.systemPayload) !== undefined;
  return (
    ENVELOPE_TYPES.has(type) &&
    textOf(record.sessionId) !== undefined &&
    (record.uuid !== undefined || record.parentUuid !== undefined) &&
    !isOtherProduct
  );
}

/** A message and where it stands in the tree. */
type Found = {
  readonly message: Draft;
  /** The id that the message has in the session it was copied from; its own unless it says otherwise. */
  readonly original: string | undefined;
  readonly records: readonly string[];
  /** The record of the call that a tool result answers. */
  readonly call?: string | undefined;
};

/** One session of a file: the main one, or a subagent whose records stand between those of the main one. */
class Session {
  nativeId: string;
  parent: string | undefined;
  isBegun = false;
  /** The answer whose lines are being read. Results of its first tools may stand before its last lines. */
  answer: Answer | undefined;
  readonly behindAnswer: Found[] = [];
  /** Finished answers and what they cost; a line that comes too late for its answer becomes a message of its own. */
  readonly answers = new Map<string, Usage | undefined>();
  readonly titles: Partial<
    Record<"custom" | "notes" | "ai" | "summary" | "otherSummary" | "prompt" | "command", string | undefined>
  > = {};
  readonly facts: {
    cwd?: string | undefined;
    gitBranch?: string | undefined;
    cliVersion?: string | undefined;
    model?: string | undefined;
  } = {};
  continues: SessionFacts["continues"];
  readonly copies: Copies;

  constructor(nativeId: string, parent: string | undefined, reading: Reading) {
    this.nativeId = nativeId;
    this.parent = parent;
    this.copies = new Copies(reading, () => this.nativeId);
  }

  note(record: Json): void {
    this.facts.cwd ??= textOf(record.cwd);
    this.facts.gitBranch ??= textOf(record.gitBranch);
    this.facts.cliVersion = textOf(record.version) ?? this.facts.cliVersion;
  }

  get known(): SessionFacts {
    const { custom, notes, ai, summary, otherSummary, prompt, command } = this.titles;
    return {
      nativeId: this.nativeId,
      title: custom ?? notes ?? ai ?? summary ?? otherSummary ?? prompt ?? command,
      ...this.facts,
      parent: this.parent,
      continues: this.continues,
    };
  }
}

class Transcript {
  /** What the caller has to yield next. */
  readonly said: Said[] = [];
  readonly main: Session;
  readonly #path: string;
  readonly #reading: Reading;
  readonly #isSubagentFile: boolean;
  /** Holds the folder `tool-results`. */
  readonly #folder: string;
  readonly #tree = new RecordTree();
  /** Calls without a result so far. */
  readonly #calls = new Map<string, { name: string; record: string | undefined }>();
  readonly #inlineAgents = new Map<string, Session>();
  /** The session of every record of an inline subagent. */
  readonly #agentRecords = new Map<string, Session>();
  #current: Session | undefined;
  #isFirstRecord = true;
  #lastQueued = { at: "", count: 0 };

  constructor(path: string, reading: Reading) {
    const stem = basename(path, ".jsonl");
    const agents = isSubagentFile(path) ? subagentFolder(path) : undefined;
    this.#path = path;
    this.#reading = reading;
    this.#folder = agents === undefined ? join(dirname(path), stem) : dirname(agents);
    const parent = agents === undefined ? undefined : basename(dirname(agents));
    this.main = new Session(parent === undefined ? stem : `${parent}-${stem}`, parent, reading);
    this.#isSubagentFile = isSubagentFile(path);
  }

  async take(record: Json, line: number): Promise<void> {
    const type = textOf(record.type) ?? "";
    const isTurn = type === "user" || type === "assistant";
    const uuid = textOf(record.uuid);
    this.#nameOldSubagent(record);
    if (uuid !== undefined && this.#agentRecords.has(uuid)) return; // the same record again
    const session = this.#sessionOf(record, uuid);
    if (uuid !== undefined && session === this.main) {
      const parent = textOf(record.parentUuid) ?? textOf(record.logicalParentUuid);
      await this.#followBack(record, uuid, parent);
      if (!this.#tree.add(uuid, parent, isTurn)) return; // the same record again
    }
    if (isTurn) session.note(record);
    if (type === "assistant") await this.#answer(session, record, line);
    else if (type === "user") await this.#user(session, record, line);
    else if (type === "attachment") await this.#queued(session, record, line);
    else if (type === "custom-title")
      this.main.titles.custom = textOf(record.customTitle) ?? this.main.titles.custom;
    else if (type === "ai-title") this.main.titles.ai = textOf(record.aiTitle) ?? this.main.titles.ai;
    else if (type === "summary") this.#summary(record);
    else if (type === "system") this.#renamed(strippedUserText(textOf(record.content) ?? ""));
    else if (!SILENT_TYPES.has(type)) this.#reading.unknown(type === "" ? "record without type" : type);
  }

  async finish(): Promise<void> {
    for (const session of [...this.#inlineAgents.values(), this.main]) {
      await this.#endAnswer(session);
      if (session.isBegun) this.said.push(session.known);
    }
    if (this.main.isBegun) {
      const ids = this.#tree.inactive();
      if (ids.length > 0) this.said.push({ kind: "inactive", ids });
    } else if (this.main.copies.count > 0)
      this.said.push(this.main.known, {
        kind: "skip",
        reason: "copy of another session",
        keepsStored: true,
      });
  }

  /** Files of subagents in the older place name the session that started them only in their records. */
  #nameOldSubagent(record: Json): void {
    const parent = textOf(record.sessionId);
    if (!this.#isSubagentFile || this.main.parent !== undefined || parent === undefined) return;
    this.main.parent = parent;
    this.main.nativeId = `${parent}-${basename(this.#path, ".jsonl")}`;
  }

  /** Older versions wrote the records of subagents between those of the main conversation. */
  #sessionOf(record: Json, uuid: string | undefined): Session {
    if (record.isSidechain !== true || this.#isSubagentFile) return this.main;
    const before = this.#agentRecords.get(textOf(record.parentUuid) ?? "");
    const key = textOf(record.agentId) ?? uuid;
    if (key === undefined) return before ?? this.main;
    const session =
      before ??
      this.#inlineAgents.get(key) ??
      new Session(`${this.main.nativeId}-agent-${key}`, this.main.nativeId, this.#reading);
    if (before === undefined) this.#inlineAgents.set(key, session);
    if (uuid !== undefined) this.#agentRecords.set(uuid, session);
    return session;
  }

  /** A first record, or a compaction, whose parent is in another file goes on from the session of that file. */
  async #followBack(record: Json, uuid: string, parent: string | undefined): Promise<void> {
    const isFirst = this.#isFirstRecord;
    this.#isFirstRecord = false;
    const fork = recordOf(record.forkedFrom);
    const original = textOf(fork?.sessionId);
    if (original !== undefined && original !== this.main.nativeId) {
      await this.main.copies.takeFrom(original);
      if (this.main.parent === undefined)
        this.main.continues ??= { how: "fork", session: original, messageId: textOf(fork?.messageUuid) };
    }
    const isBoundary = record.subtype === "compact_boundary";
    if (parent === undefined || parent === uuid || this.main.parent !== undefined) return;
    // Further on in a file a missing parent is a lost line.
    if (!(isFirst || (isBoundary && !this.main.isBegun)) || this.#tree.has(parent)) return;
    const session = await sessionWithRecord(parent, this.#path, timeOf(record.timestamp) ?? 0);
    if (session !== undefined) await this.main.copies.takeFrom(session);
    this.main.continues = { how: isBoundary ? "compaction" : "fork", session, messageId: parent };
  }

  async #answer(session: Session, record: Json, line: number): Promise<void> {
    const message = recordOf(record.message);
    if (message === undefined) {
      this.#reading.malformed(line, "assistant record without a message");
      return;
    }
    const uuid = textOf(record.uuid);
    const shared = textOf(message.id);
    if (session.answer === undefined || shared === undefined || session.answer.shared !== shared) {
      await this.#endAnswer(session);
      const id = shared === undefined || session.answers.has(shared) ? uuid : shared;
      session.answer = { id, shared, line, records: [], blocks: [] };
    }
    addLine(session.answer, record, message);
    for (const block of blocksIn(message)) {
      const call = block.type === "tool_use" ? textOf(block.id) : undefined;
      if (call !== undefined) this.#calls.set(call, { name: textOf(block.name) ?? "unknown", record: uuid });
    }
  }

  async #endAnswer(session: Session): Promise<void> {
    const { answer } = session;
    session.answer = undefined;
    if (answer !== undefined) {
      const { id, shared, at, line, model, finishReason } = answer;
      const blocks = blocksOf(answer.blocks, this.#reading.unknown);
      const whole = usageOf(answer.usage, ANTHROPIC_COUNTS);
      const counted = session.answers.get(shared ?? "");
      const usage = withoutCounted(whole, counted);
      const message = {
        id,
        role: "assistant",
        ...blocks,
        toolResults: [],
        at,
        line,
        finishReason,
        model,
        usage,
      };
      const isWanted = isKept(message, this.#reading);
      if (shared !== undefined) session.answers.set(shared, isWanted ? (whole ?? counted) : counted);
      if (isWanted) {
        session.facts.model = model ?? session.facts.model;
        await this.#give(session, { message, original: id, records: answer.records });
      }
    }
    for (const result of session.behindAnswer.splice(0)) await this.#give(session, result);
  }

  async #user(session: Session, record: Json, line: number): Promise<void> {
    // Recaps of a compaction repeat turns that are still in the file.
    if (record.isMeta === true || record.isCompactSummary === true) return;
    const content = recordOf(record.message)?.content;
    if (content === undefined) {
      this.#reading.malformed(line, "user record without a message");
      return;
    }
    const { text: recorded, toolResults } = blocksOf(content, this.#reading.unknown);
    const uuid = textOf(record.uuid);
    const copied = textOf(recordOf(record.forkedFrom)?.messageUuid) ?? uuid;
    const at = timeOf(record.timestamp);
    for (const { callId, text } of toolResults) {
      const call = this.#calls.get(callId);
      this.#calls.delete(callId);
      session.behindAnswer.push({
        message: {
          id: uuid === undefined ? undefined : `${uuid}:${callId}`,
          role: "tool",
          text: await this.#wholeOutput(
            text,
            toolResults.length === 1 ? recordOf(record.toolUseResult) : undefined,
          ),
          at,
          line,
          toolCallId: textOf(callId),
          toolName: call?.name,
        },
        original: copied === undefined ? undefined : `${copied}:${callId}`,
        records: uuid === undefined ? [] : [uuid],
        call: call?.record ?? textOf(record.sourceToolAssistantUUID),
      });
    }
    const text = strippedUserText(recorded).trim();
    if (text === "" || isClientSummary(text)) return;
    await this.#prompt(session, { id: uuid, role: "user", text, at, line }, record);
  }

  /** Text that the user typed while a tool ran. Its records have no id in some versions. */
  async #queued(session: Session, record: Json, line: number): Promise<void> {
    const attachment = recordOf(record.attachment);
    if (attachment?.type !== "queued_command") return;
    const text = strippedUserText(blocksOf(attachment.prompt, this.#reading.unknown).text).trim();
    if (text === "") return;
    const time = textOf(record.timestamp) ?? "";
    this.#lastQueued = { at: time, count: this.#lastQueued.at === time ? this.#lastQueued.count + 1 : 1 };
    const id = textOf(record.uuid) ?? (time === "" ? undefined : `queued-${time}-${this.#lastQueued.count}`);
    await this.#prompt(session, { id, role: "user", text, at: timeOf(record.timestamp), line }, record);
  }

  async #prompt(session: Session, message: Draft, record: Json): Promise<void> {
    await this.#endAnswer(session);
    const uuid = textOf(record.uuid);
    const original = textOf(recordOf(record.forkedFrom)?.messageUuid) ?? message.id;
    if (!(await this.#give(session, { message, original, records: uuid === undefined ? [] : [uuid] })))
      return;
    const kind = /^\/\S/.test(message.text) ? "command" : "prompt";
    session.titles[kind] ??= titleFrom(message.text);
    this.#renamed(message.text);
  }

  /** False when the message is a copy that an older session owns. */
  async #give(session: Session, { message, original, records, call }: Found): Promise<boolean> {
    if (original !== undefined && (await session.copies.has(original))) return false;
    if (!session.isBegun && session.parent === undefined && session.copies.source !== undefined)
      session.continues ??= { how: "fork", session: session.copies.source };
    if (!session.isBegun) this.said.push(session.known);
    else if (this.#current !== session) this.said.push({ nativeId: session.nativeId });
    session.isBegun = true;
    this.#current = session;
    this.said.push(message);
    if (session === this.main && message.id !== undefined)
      for (const record of records) this.#tree.name(message.id, record, call);
    return true;
  }

  async #wholeOutput(text: string, result: Json | undefined): Promise<string> {
    if (!text.trimStart().startsWith("<persisted-output>")) return text;
    const path = textOf(result?.persistedOutputPath) ?? /saved to:? *(\S[^\r\n]*)/.exec(text)?.[1]?.trim();
    return (path === undefined ? undefined : await persistedOutput(path, this.#folder)) ?? text;
  }

  #summary(record: Json): void {
    const summary = textOf(record.summary);
    if (summary === undefined) return;
    // Older versions write summaries of other sessions at the top of a file.
    const isOwn = this.#tree.has(textOf(record.leafUuid) ?? "");
    this.main.titles[isOwn ? "summary" : "otherSummary"] = summary;
  }

  #renamed(text: string): void {
    const name = /^\/rename\s+(\S.*)$/.exec(text)?.[1];
    if (name !== undefined) this.main.titles.custom = name.trim();
  }
}

/** One answer of the model, which is written in several lines: a line per block, or lines that repeat and extend earlier blocks. */
type Answer = {
  readonly id: string | undefined;
  /** `message.id`, which all lines share. */
  readonly shared: string | undefined;
  readonly line: number;
  /** The records that it is made of. */
  readonly records: string[];
  readonly blocks: Json[];
  at?: number | undefined;
  model?: string | undefined;
  finishReason?: string | undefined;
  /** What the whole answer cost so far: its lines repeat the numbers and let them grow. */
  usage?: Json;
};

/** A block is compared with this many before it, so that a long message takes linear time. */
const LOOK_BACK = 64;
/** The model of answers that the product wrote itself. */
const SYNTHETIC = "<synthetic>";

/** Metadata come from the last line, the time from the first: later lines may stand behind results of tools. */
function addLine(answer: Answer, record: Json, message: Json): void {
  answer.records.push(...[record.uuid].flatMap((uuid) => textOf(uuid) ?? []));
  answer.at ??= timeOf(record.timestamp);
  const model = textOf(message.model);
  if (model !== undefined && model !== SYNTHETIC) answer.model = model;
  answer.finishReason = textOf(message.stop_reason) ?? answer.finishReason;
  const usage = recordOf(message.usage);
  if (usage && (numberOf(usage.output_tokens) ?? 0) >= (numberOf(answer.usage?.output_tokens) ?? 0))
    answer.usage = usage;
  for (const block of blocksIn(message)) {
    const near = answer.blocks.slice(-LOOK_BACK);
    const back = near.length - near.findLastIndex((earlier) => isExtension(earlier, block));
    if (back > near.length) answer.blocks.push(block);
    else answer.blocks[answer.blocks.length - back] = block;
  }
}

/** The blocks of a line; plain text is one block. */
function blocksIn({ content }: Json): Json[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : recordsOf(content);
}

function isExtension(earlier: Json, later: Json): boolean {
  if (earlier.type !== later.type || earlier.id !== later.id) return false;
  if (earlier.id !== undefined) return true;
  const [before, after] = [earlier.text ?? earlier.thinking, later.text ?? later.thinking];
  return typeof before === "string" && typeof after === "string" && after.startsWith(before);
}

/** `counted`: what earlier lines of the same answer gave. */
function withoutCounted(usage: Usage | undefined, counted: Usage | undefined): Usage | undefined {
  if (usage === undefined || counted === undefined) return usage;
  const rest = (key: keyof Usage): number => Math.max(0, (usage[key] ?? 0) - (counted[key] ?? 0));
  return {
    inputTokens: rest("inputTokens"),
    outputTokens: rest("outputTokens"),
    cacheReadTokens: rest("cacheReadTokens"),
    cacheWriteTokens: rest("cacheWriteTokens"),
  };
}

const MAX_TITLE_CHARS = 100;

/** The first line of the first prompt, for sessions without a title. */
function titleFrom(text: string): string | undefined {
  const line = text.split("\n", 20).find((one) => one.trim() !== "");
  return line === undefined
    ? undefined
    : [...line.trim().slice(0, 4 * MAX_TITLE_CHARS)].slice(0, MAX_TITLE_CHARS).join("");
}

// ---- Which files are transcripts, and what stands beside one: outputs moved out of it, the session it goes on from, the notes of Cowork ----

/** Folders of the product without transcripts. Some hold copies of the user's files. */
const OTHER_FOLDERS = names(`
  file-history paste-cache image-cache shell-snapshots checkpoints debug plugins
`);
/** Later than every time of a file in milliseconds: subagents are read after the sessions that started them. */
const AFTER_MAIN_FILES = 1e14;

function roots(place: Place): string[] {
  const { home, env } = place;
  const configured = textOf(env.CLAUDE_CONFIG_DIR);
  const settings = textOf(env.XDG_CONFIG_HOME) ?? join(home, ".config");
  const folders = configured === undefined ? [join(home, ".claude"), join(settings, "claude")] : [configured];
  return [
    ...folders.flatMap((folder) => [join(folder, "projects"), join(folder, "transcripts")]),
    join(configFolder(place), "Claude", "local-agent-mode-sessions"),
  ];
}

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  const wanted = { file: (path: string) => isTranscript(path, root), folder: mayHoldTranscripts };
  for await (const path of filesBelow(root, wanted, walking)) {
    const notes = coworkNotes(path);
    const order = (await age(path)) + (isSubagentFile(path) ? AFTER_MAIN_FILES : 0);
    yield notes === undefined ? { path, order } : { path, order, stamps: [path, notes] };
  }
}

function isTranscript(path: string, root: string): boolean {
  const name = basename(path);
  if (!name.endsWith(".jsonl") || name === "history.jsonl") return false;
  return path === root || isSubagentFile(path) || subagentFolder(path) === undefined;
}

function isSubagentFile(path: string): boolean {
  return basename(path).startsWith("agent-");
}

/** The folder `<session>/subagents` that the file lies in, or one level deeper in `workflows/<id>`. */
function subagentFolder(path: string): string | undefined {
  const folder = dirname(path);
  const above = dirname(dirname(folder));
  if (basename(folder) === "subagents") return folder;
  return basename(dirname(folder)) === "workflows" && basename(above) === "subagents" ? above : undefined;
}

function mayHoldTranscripts(folder: string): boolean {
  const name = basename(folder);
  const above = basename(dirname(folder));
  if (name === "tool-results") return false;
  if (above === "projects") return true; // the user can name the folder of a project
  // Cowork keeps the user's files beside the folder of Claude Code.
  if (above.startsWith("local_") && basename(dirname(dirname(folder))) !== "projects")
    return name === ".claude";
  if (above === ".claude") return name === "projects" || name === "transcripts";
  return !OTHER_FOLDERS.has(name);
}

/** Milliseconds. A session that was resumed has a late change but an early birth; in a copied tree it is the other way round. */
async function age(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined); // deleted meanwhile: reading it reports that
  if (found === undefined) return 0;
  return found.birthtimeMs > 0 ? Math.min(found.birthtimeMs, found.mtimeMs) : found.mtimeMs;
}

const MAX_OUTPUT_BYTES = 1024 ** 2;
/** The record that a file goes on from is near the end of the file before it. */
const TAIL_BYTES = 256 * 1024;
const MAX_CANDIDATES = 32;

/**
 * A tool output that the transcript only names. The recorded path is never opened: its last three parts must be this session, `tool-results`
 * and a name, and the file of that name is taken from the folder beside the transcript, which may be a copy on another machine.
 */
async function persistedOutput(recorded: string, sessionFolder: string): Promise<string | undefined> {
  const [session, folder, name] = recorded.split(/[\\/]/).slice(-3);
  if (session !== basename(sessionFolder) || folder !== "tool-results" || !name || name === "..")
    return undefined;
  try {
    const inside = await realpath(join(sessionFolder, folder));
    const path = await realpath(join(inside, name));
    if (!isWithin(inside, path)) return undefined; // a link that leads out of the folder
    const found = await stat(path);
    if (!found.isFile()) return undefined;
    const bytes = await partOf(path, 0, Math.min(found.size, MAX_OUTPUT_BYTES));
    const text = new TextDecoder().decode(bytes);
    return found.size > bytes.length ? `${text}\n[${found.size - bytes.length} more bytes]` : text;
  } catch {
    return undefined; // the product deletes old outputs; the transcript keeps a preview
  }
}

async function partOf(path: string, from: number, length: number): Promise<Buffer> {
  await using file = await open(path, "r");
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, from);
  return buffer.subarray(0, bytesRead);
}

/**
 * The session that has this record, looked for in the files whose last change is nearest to `at` (seconds): of the same folder, then of
 * the other projects, because a session can be resumed from another working directory.
 */
async function sessionWithRecord(uuid: string, path: string, at: number): Promise<string | undefined> {
  const own = dirname(path);
  const wanted = Buffer.from(`"uuid":${JSON.stringify(uuid)}`);
  const found = await sessionIn([own]);
  if (found !== undefined || basename(dirname(own)) !== "projects") return found;
  const others = (await readdir(dirname(own)).catch(() => [])).map((name) => join(dirname(own), name));
  return sessionIn(others.filter((folder) => folder !== own));

  async function sessionIn(folders: readonly string[]): Promise<string | undefined> {
    const candidates: { path: string; size: number; distance: number }[] = [];
    // A folder that may not be listed costs only the link between the two sessions.
    for (const folder of folders)
      for (const name of await readdir(folder).catch(() => [])) {
        const candidate = join(folder, name);
        if (!name.endsWith(".jsonl") || name.startsWith("agent-") || candidate === path) continue;
        const stats = await stat(candidate).catch(() => undefined); // deleted meanwhile
        if (stats?.isFile() !== true) continue;
        const distance = Math.abs(stats.mtimeMs / 1000 - at);
        candidates.push({ path: candidate, size: stats.size, distance });
      }
    candidates.sort((a, b) => a.distance - b.distance || (a.path < b.path ? -1 : 1));
    for (const { path: candidate, size } of candidates.slice(0, MAX_CANDIDATES)) {
      const length = Math.min(size, TAIL_BYTES);
      const tail = await partOf(candidate, size - length, length).catch(() => undefined); // its own unit reports it
      if (tail?.includes(wanted)) return basename(candidate, ".jsonl");
    }
    return undefined;
  }
}

/** Where Cowork keeps what it knows of a transcript: `local_<id>.json` beside the folder `local_<id>`. */
function coworkNotes(path: string): string | undefined {
  return /^(.*[\\/]local_[^\\/]+)[\\/]\.claude[\\/]projects[\\/][^\\/]+[\\/][^\\/]+\.jsonl$/
    .exec(path)?.[1]
    ?.concat(".json");
}

async function coworkTitle(path: string): Promise<string | undefined> {
  const notes = coworkNotes(path);
  const known = notes === undefined ? undefined : await recordAt(notes);
  return textOf(known?.cliSessionId) === basename(path, ".jsonl") ? textOf(known?.title) : undefined;
}
