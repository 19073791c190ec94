// From the records of one Claude Code file to sessions and messages.
import { basename, dirname, join } from "node:path";
import { isClientSummary, strippedUserText } from "@hermes-memory/core/internal/security";
import { blocksOf } from "../../kit/blocks.ts";
import { type Json, recordOf, textOf, timeOf } from "../../kit/values.ts";
import type { Reading, SessionFacts, TranscriptEvent, TranscriptMessage, Usage } from "../../reader.ts";
import { AssistantMessage, blockList } from "./assistant-message.ts";
import { RecordTree } from "./branches.ts";
import { Copies } from "./copies.ts";
import { persistedOutput, sessionWithRecord } from "./neighbours.ts";

/** Records without words of the conversation. */
export const SILENT_TYPES: ReadonlySet<string> = new Set(
  `progress queue-operation file-history-snapshot last-prompt tag agent-name agent-color agent-setting mode permission-mode
  worktree-state pr-link bridge-session attribution-snapshot atis-latch cost-state api-request api-request-shape
  api-request-blob`.split(/\s+/),
);

export function isSubagentFile(path: string): boolean {
  return basename(path).startsWith("agent-");
}

/** The folder `<session>/subagents` that the file lies in, or one level deeper in `workflows/<id>`. */
export function subagentFolder(path: string): string | undefined {
  const folder = dirname(path);
  const above = dirname(dirname(folder));
  if (basename(folder) === "subagents") return folder;
  return basename(dirname(folder)) === "workflows" && basename(above) === "subagents" ? above : undefined;
}

/** A message and where it stands in the tree. */
type Found = {
  readonly message: TranscriptMessage;
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
  answer: AssistantMessage | undefined;
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
      ...(this.parent === undefined ? {} : { parent: this.parent, visibility: "subagent" }),
      continues: this.continues,
    };
  }
}

export class Transcript {
  /** What the caller has to yield next. */
  readonly events: TranscriptEvent[] = [];
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
    if (type === "assistant") this.#answer(session, record, line);
    else if (type === "user") await this.#user(session, record, line);
    else if (type === "attachment") this.#queued(session, record, line);
    else if (type === "custom-title")
      this.main.titles.custom = textOf(record.customTitle) ?? this.main.titles.custom;
    else if (type === "ai-title") this.main.titles.ai = textOf(record.aiTitle) ?? this.main.titles.ai;
    else if (type === "summary") this.#summary(record);
    else if (type === "system") this.#renamed(strippedUserText(textOf(record.content) ?? ""));
    else if (!SILENT_TYPES.has(type)) this.#reading.unknown(type === "" ? "record without type" : type);
  }

  finish(): void {
    for (const session of [...this.#inlineAgents.values(), this.main]) {
      this.#endAnswer(session);
      if (session.isBegun) this.events.push({ kind: "session", facts: session.known });
    }
    if (this.main.isBegun) {
      const ids = this.#tree.inactive();
      if (ids.length > 0) this.events.push({ kind: "inactive", ids });
    } else if (this.main.copies.count > 0)
      this.events.push(
        { kind: "session", facts: this.main.known },
        { kind: "skip", reason: "copy of another session", keepsStored: true },
      );
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
      this.main.copies.takeFrom(original);
      if (this.main.parent === undefined)
        this.main.continues ??= { how: "fork", session: original, messageId: textOf(fork?.messageUuid) };
    }
    const isBoundary = record.subtype === "compact_boundary";
    if (parent === undefined || parent === uuid || this.main.parent !== undefined) return;
    // Further on in a file a missing parent is a lost line.
    if (!(isFirst || (isBoundary && !this.main.isBegun)) || this.#tree.has(parent)) return;
    const session = await sessionWithRecord(parent, this.#path, timeOf(record.timestamp) ?? 0);
    if (session !== undefined) this.main.copies.takeFrom(session);
    this.main.continues = { how: isBoundary ? "compaction" : "fork", session, messageId: parent };
  }

  #answer(session: Session, record: Json, line: number): void {
    const message = recordOf(record.message);
    if (message === undefined) {
      this.#reading.malformed(line, "assistant record without a message");
      return;
    }
    const uuid = textOf(record.uuid);
    const shared = textOf(message.id);
    if (session.answer === undefined || shared === undefined || session.answer.shared !== shared) {
      this.#endAnswer(session);
      const id = shared === undefined || session.answers.has(shared) ? uuid : shared;
      session.answer = new AssistantMessage(id, shared, line);
    }
    session.answer.add(record, message);
    for (const block of blockList(message.content)) {
      const call = block.type === "tool_use" ? textOf(block.id) : undefined;
      if (call !== undefined) this.#calls.set(call, { name: textOf(block.name) ?? "unknown", record: uuid });
    }
  }

  #endAnswer(session: Session): void {
    const { answer } = session;
    session.answer = undefined;
    const counted = session.answers.get(answer?.shared ?? "");
    const message = answer?.finished(this.#reading.options.includeReasoning, this.#reading.unknown, counted);
    if (answer?.shared !== undefined)
      session.answers.set(answer.shared, message === undefined ? counted : (answer.usage ?? counted));
    if (answer !== undefined && message !== undefined) {
      session.facts.model = message.model ?? session.facts.model;
      this.#give(session, { message, original: message.id, records: answer.records });
    }
    for (const result of session.behindAnswer.splice(0)) this.#give(session, result);
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
    this.#prompt(session, { id: uuid, role: "user", text, at, line }, record);
  }

  /** Text that the user typed while a tool ran. Its records have no id in some versions. */
  #queued(session: Session, record: Json, line: number): void {
    const attachment = recordOf(record.attachment);
    if (attachment?.type !== "queued_command") return;
    const text = strippedUserText(blocksOf(attachment.prompt, this.#reading.unknown).text).trim();
    if (text === "") return;
    const time = textOf(record.timestamp) ?? "";
    this.#lastQueued = { at: time, count: this.#lastQueued.at === time ? this.#lastQueued.count + 1 : 1 };
    const id = textOf(record.uuid) ?? (time === "" ? undefined : `queued-${time}-${this.#lastQueued.count}`);
    this.#prompt(session, { id, role: "user", text, at: timeOf(record.timestamp), line }, record);
  }

  #prompt(session: Session, message: TranscriptMessage, record: Json): void {
    this.#endAnswer(session);
    const uuid = textOf(record.uuid);
    const original = textOf(recordOf(record.forkedFrom)?.messageUuid) ?? message.id;
    if (!this.#give(session, { message, original, records: uuid === undefined ? [] : [uuid] })) return;
    const kind = /^\/\S/.test(message.text) ? "command" : "prompt";
    session.titles[kind] ??= titleFrom(message.text);
    this.#renamed(message.text);
  }

  /** False when the message is a copy that an older session owns. */
  #give(session: Session, { message, original, records, call }: Found): boolean {
    if (original !== undefined && session.copies.has(original)) return false;
    if (!session.isBegun && session.parent === undefined && session.copies.source !== undefined)
      session.continues ??= { how: "fork", session: session.copies.source };
    if (!session.isBegun) this.events.push({ kind: "session", facts: session.known });
    else if (this.#current !== session)
      this.events.push({ kind: "session", facts: { nativeId: session.nativeId } });
    session.isBegun = true;
    this.#current = session;
    this.events.push({ kind: "message", message });
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

const MAX_TITLE_CHARS = 100;

/** The first line of the first prompt, for sessions without a title. */
function titleFrom(text: string): string | undefined {
  const line = text.split("\n", 20).find((one) => one.trim() !== "");
  return line === undefined
    ? undefined
    : [...line.trim().slice(0, 4 * MAX_TITLE_CHARS)].slice(0, MAX_TITLE_CHARS).join("");
}
