// Codex CLI: one rollout file per thread, plain or compressed, of three generations. Titles and parents of threads stand beside them: in
// a list of names, later in a database.
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { strippedUserText } from "@hermes-memory/core/internal/security";
import { type Draft, format, isKept, names, type Said } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { lastRead, wholeJson } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { joined, toolCall } from "../kit/parts.ts";
import { databaseStamps, openSource } from "../kit/sqlite-source.ts";
import { type Json, jsonOf, listOf, numbered, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow, isFolder } from "../kit/walk.ts";
import type { Reading, SessionFacts, Unit, Usage } from "../reader.ts";

const FOLDERS = ["sessions", "archived_sessions"] as const;
const ROLLOUT = /^rollout-.*\.(?:jsonl|jsonl\.zst|json)$/;
const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
/** The id of the thread, and after an underscore that of the file where the user took the thread back to an earlier point. */
const IDS = new RegExp(`(${UUID})(?:_(${UUID}))?\\.json`, "i");

export const codex = format({
  source: "codex",
  title: "Codex CLI",
  evidence: "S",
  version: 2,
  roots: ({ home, env }) => [env.CODEX_HOME || join(home, ".codex")],
  units: async function* (root, walking) {
    const found = FOLDERS.map((folder) => join(root, folder));
    const isHome = (await Promise.all(found.map(isFolder))).includes(true);
    for (const from of isHome ? found : [root]) {
      let plain = "";
      const file = (path: string): boolean => path === root || ROLLOUT.test(basename(path));
      for await (const path of filesBelow(from, { file }, walking)) {
        // The compressed copy sorts right after the plain file, which is the newer one.
        if (path !== `${plain}.zst`) yield { path };
        plain = path;
      }
    }
  },
  recognises: ({ path, first: { type, payload, id, items, session, ...header } }) =>
    (ROLLOUT.test(basename(path)) && path.endsWith(".zst")) ||
    (typeof type === "string" && recordOf(payload) !== undefined) ||
    (type === undefined && typeof id === "string" && "instructions" in header) ||
    (Array.isArray(items) && recordOf(session) !== undefined),
  read: readRollout,
});

async function* readRollout({ path }: Unit, reading: Reading): AsyncGenerator<Said> {
  const rollout = new Rollout(path, await codexThreads(homeOf(path), reading), reading);
  if (path.endsWith(".json")) {
    const file = recordOf(await wholeJson(path, reading));
    const session = recordOf(file?.session);
    if (session === undefined) throw new Error("has no session");
    yield* rollout.take({ instructions: "", ...session }, 1);
    for (const { value, line } of numbered(file?.items, reading)) yield* rollout.take(value, line);
  } else
    for await (const { value, line } of jsonLines(path, reading)) {
      yield* rollout.take(value, line);
      if (rollout.isSkipped) return;
    }
  yield* rollout.end();
}

/** The folder with `sessions/` or `archived_sessions/`; for a file from elsewhere, its own folder. */
function homeOf(path: string): string {
  const own = dirname(path);
  for (let folder = own; folder !== dirname(folder); folder = dirname(folder))
    if (FOLDERS.some((name) => name === basename(folder))) return dirname(folder);
  return own;
}

/** The turns of another thread, found by its id in the file name; empty when its file is gone. */
async function turnIdsOf(home: string, threadId: string, reading: Reading): Promise<ReadonlySet<string>> {
  const turns = new Set<string>();
  const quiet = { signal: reading.signal, malformed: () => {}, advanced: () => {}, unreadable: () => {} };
  const file = (path: string): boolean => ROLLOUT.test(basename(path)) && path.includes(threadId);
  for (const folder of FOLDERS)
    for await (const path of filesBelow(join(home, folder), { file }, quiet))
      try {
        for await (const { value } of jsonLines(path, quiet)) {
          const turn = textOf(recordOf(value.payload)?.turn_id);
          if (turn !== undefined) turns.add(turn);
        }
      } catch {
        reading.signal.throwIfAborted(); // without the parent, its turns cannot be told from the child's
      }
  return turns;
}

/** Known, and nothing to keep. */
const SKIPPED_TYPES = /^(?:inter_agent_communication.*|world_state|security_risk_score|token_usage_record)$/;
/** Codex ends sessions with this message that it took over from another agent. */
const EXTERNAL_MARK = "<EXTERNAL SESSION IMPORTED>";
const MACHINE_RUNS: ReadonlySet<unknown> = new Set(["compact", "memory_consolidation"]);

/** Keeps ids of turns and messages, and of texts only the last answer. */
class Rollout {
  /** From the file name, for files whose header cannot be read. */
  readonly #fallbackId: string;
  /** Ends the native id of a file that begins in the middle of a thread. */
  readonly #suffix: string;
  readonly #threads: CodexThreads;
  readonly #path: string;
  readonly #reading: Reading;
  /** Message ids by user turn, without turns that were rolled back. */
  readonly #turns: string[][] = [];
  #nativeId: string | undefined;
  #threadId: string | undefined;
  #isSubagent = false;
  #hasCwd = false;
  #model: string | undefined;
  #usage: Usage | undefined;
  #isMemoryDisabled = false;
  /** The last answer, until it is known not to be the summary of a compaction. */
  #answer: Draft | undefined;
  /** For the answer after it. */
  #reasoning: string[] = [];
  /** Set while the file may still repeat turns of this other thread. */
  #copiedFrom: string | undefined;
  /** No copied turns follow: the first own one was there, or the header says where the own records begin. */
  #isPastCopies = false;
  #copiedTurns: ReadonlySet<string> | undefined;
  #isCopy = false;
  #startOrdinal = 0;
  /** The time of the header, in files whose records have none. */
  #headerTime: number | undefined;
  isSkipped = false;

  constructor(path: string, threads: CodexThreads, reading: Reading) {
    const [, threadId, rolloutId] = IDS.exec(basename(path)) ?? [];
    this.#fallbackId = threadId ?? basename(path).replace(/\.json.*$/, "");
    this.#suffix = rolloutId === undefined || rolloutId === threadId ? "" : `_${rolloutId}`;
    this.#path = path;
    this.#threads = threads;
    this.#reading = reading;
  }

  async *take(record: Json, line: number): AsyncGenerator<Said> {
    const type = textOf(record.type);
    const payload = recordOf(record.payload);
    if (payload === undefined) return yield* this.#takeOld(record, line);
    if (type === "session_meta") return yield* this.#takeMeta(payload, record);
    if (this.#nativeId === undefined) yield this.#begin({}, undefined);
    const turnId = textOf(payload.turn_id);
    if (
      turnId !== undefined &&
      (type === "turn_context" || /^(?:task|turn)_started$/.test(String(payload.type)))
    )
      await this.#enterTurn(turnId);
    const ordinal = numberOf(record.ordinal);
    if (this.#isCopy || (ordinal !== undefined && ordinal < this.#startOrdinal)) return;
    if (type === "turn_context") {
      this.#model = textOf(payload.model) ?? this.#model;
      yield* this.#cwdFrom(textOf(payload.cwd));
    } else if (type === "response_item") {
      const id = textOf(payload.id) ?? (ordinal === undefined ? `l${line}` : `o${ordinal}`);
      yield* this.#giveAnswer();
      const said = this.#item(payload, id, line, timeOf(record.timestamp));
      if (said !== undefined && "role" in said && said.role === "assistant" && !said.toolCalls)
        this.#answer = said;
      else if (said !== undefined) yield said;
    } else if (type === "compacted") {
      // It recaps turns that are still in the file. The model's summary stands before it as an answer, and in it behind Codex's own words.
      const summary = this.#answer?.text.trim();
      if (summary && textOf(payload.message)?.trimEnd().endsWith(summary)) this.#answer = undefined;
    } else if (type === "event_msg") yield* this.#event(payload);
    else if (type === undefined || !SKIPPED_TYPES.test(type))
      this.#reading.unknown(type ?? "record without type");
  }

  *end(): Generator<Said> {
    if (this.#nativeId === undefined) return;
    yield* this.#giveAnswer();
    if (this.#usage !== undefined) yield { nativeId: this.#nativeId, usage: this.#usage };
    if (this.#isMemoryDisabled && this.#reading.options.includeMemoryDisabled !== true)
      yield this.#skip("memory disabled by the user");
  }

  *#giveAnswer(): Generator<Said> {
    if (this.#answer !== undefined) yield this.#answer;
    this.#answer = undefined;
  }

  /** Until September 2025: a header, then bare items, without times. */
  *#takeOld(record: Json, line: number): Generator<Said> {
    if (this.#nativeId === undefined) {
      const header = record.type === undefined && typeof record.id === "string" ? record : {};
      this.#headerTime = timeOf(header.timestamp);
      const branch = textOf(recordOf(header.git)?.branch);
      const facts = { startedAt: this.#headerTime, gitBranch: branch, hasSyntheticTimes: true } as const;
      yield this.#begin(facts, textOf(header.id));
      if (header === record) return;
    }
    if (record.record_type !== undefined) return;
    if (!this.#hasCwd) yield* this.#cwdFrom(contextFolder(record.content));
    const said = this.#item(record, textOf(record.id) ?? `l${line}`, line, this.#headerTime);
    if (said === undefined) return;
    if ("role" in said && isKept(said, this.#reading)) this.#headerTime = undefined; // the others follow it
    yield said;
  }

  *#takeMeta(meta: Json, record: Json): Generator<Said> {
    const id = textOf(meta.id) ?? textOf(meta.session_id);
    // Later ones were copied from a parent, except where the user changed a setting of this thread.
    if (this.#nativeId === undefined || id === this.#threadId)
      this.#isMemoryDisabled =
        meta.memory_mode === undefined ? this.#isMemoryDisabled : meta.memory_mode === "disabled";
    if (this.#nativeId !== undefined) {
      if (!this.#isPastCopies && id !== this.#threadId) this.#copiedFrom ??= id;
      return;
    }
    const threadId = id ?? this.#fallbackId;
    const agent = recordOf(meta.source)?.subagent;
    const spawn = recordOf(recordOf(agent)?.thread_spawn);
    const parent =
      textOf(meta.parent_thread_id) ?? textOf(spawn?.parent_thread_id) ?? this.#threads.parents.get(threadId);
    this.#isSubagent =
      agent !== undefined || meta.thread_source === "subagent" || this.#threads.parents.has(threadId);
    const base = textOf(recordOf(meta.history_base)?.thread_id);
    const forkedFrom = textOf(meta.forked_from_id) ?? base;
    this.#startOrdinal = numberOf(meta.subagent_history_start_ordinal) ?? 0;
    this.#isPastCopies = this.#startOrdinal > 0 || base !== undefined;
    // Most subagents copy nothing. Those that do repeat the header of the parent, which is then the sign.
    if (!this.#isPastCopies && !this.#isSubagent) this.#copiedFrom = forkedFrom;
    this.#hasCwd = textOf(meta.cwd) !== undefined;
    yield this.#begin(
      {
        cwd: textOf(meta.cwd),
        startedAt: timeOf(meta.timestamp) ?? timeOf(record.timestamp),
        cliVersion: textOf(meta.cli_version),
        provider: textOf(meta.model_provider),
        gitBranch: textOf(recordOf(meta.git)?.branch),
        ...(this.#isSubagent && { visibility: "subagent", parent }),
        ...(!this.#isSubagent && forkedFrom !== undefined
          ? { continues: { how: "fork", session: forkedFrom } }
          : {}),
      },
      threadId,
    );
    if (MACHINE_RUNS.has(agent) || recordOf(meta.source)?.internal !== undefined)
      yield this.#skip("internal session");
  }

  #begin(facts: Partial<SessionFacts>, threadId = this.#fallbackId): Said {
    this.#threadId = threadId;
    this.#nativeId = threadId + this.#suffix;
    const title = this.#threads.titles.get(threadId);
    return { ...facts, ...(title && { title }), nativeId: this.#nativeId };
  }

  #skip(reason: string): Said {
    this.isSkipped = true;
    return { kind: "skip", reason };
  }

  /** A fork begins with the turns of its parent under new times. The first turn that the parent lacks is its own. */
  async #enterTurn(id: string): Promise<void> {
    if (this.#copiedFrom !== undefined) {
      this.#copiedTurns ??= await turnIdsOf(homeOf(this.#path), this.#copiedFrom, this.#reading);
      this.#isCopy = this.#copiedTurns.has(id);
      if (this.#isCopy) return;
    }
    this.#copiedFrom = undefined;
    this.#isPastCopies = true;
  }

  *#cwdFrom(cwd: string | undefined): Generator<Said> {
    if (cwd === undefined || this.#hasCwd || this.#nativeId === undefined) return;
    this.#hasCwd = true;
    yield { nativeId: this.#nativeId, cwd };
  }

  #item(item: Json, id: string, line: number, at: number | undefined): Said | undefined {
    if (item.type === "reasoning") {
      this.#reasoning.push(...listOf(item.summary).map((part) => textOf(recordOf(part)?.text) ?? ""));
      return undefined;
    }
    const draft = itemDraft(item, id, this.#isSubagent, this.#reading);
    if (draft === undefined) return undefined;
    if (draft.role === "assistant" && draft.text.trim() === EXTERNAL_MARK)
      return this.#skip("imported by Codex from another agent");
    const message = { ...draft, at, line };
    if (!isKept(draft, this.#reading)) return message;
    if (draft.role === "user") this.#turns.push([]);
    this.#turns.at(-1)?.push(id);
    if (draft.role !== "assistant") return message;
    return { ...message, model: this.#model, reasoning: joined(this.#reasoning.splice(0)) };
  }

  /** Texts of events repeat response items; only what those do not say is used. */
  *#event(event: Json): Generator<Said> {
    if (event.type === "thread_rolled_back") {
      const count = Math.max(0, numberOf(event.num_turns) ?? 0);
      const ids = count === 0 ? [] : this.#turns.splice(-count).flat();
      if (ids.length > 0) yield { kind: "inactive", ids };
    } else if (event.type === "token_count") {
      const total = recordOf(recordOf(event.info)?.total_token_usage);
      if (total !== undefined) this.#usage = countsOf(total);
    } else if (event.type === "agent_message" && textOf(event.message)?.trim() === EXTERNAL_MARK)
      yield this.#skip("imported by Codex from another agent");
  }
}

/** Codex counts tokens from the cache as input too. */
function countsOf(total: Json): Usage {
  const cached = numberOf(total.cached_input_tokens) ?? 0;
  const input = numberOf(total.input_tokens);
  return {
    inputTokens: input === undefined ? undefined : Math.max(0, input - cached),
    outputTokens: numberOf(total.output_tokens),
    cacheReadTokens: cached,
    reasoningTokens: numberOf(total.reasoning_output_tokens),
  };
}

type CodexThreads = {
  readonly titles: ReadonlyMap<string, string>;
  /** Parents of spawned threads. */
  readonly parents: ReadonlyMap<string, string>;
};

const lastThreads = lastRead<CodexThreads>();

async function codexThreads(home: string, reading: Reading): Promise<CodexThreads> {
  const list = join(home, "session_index.jsonl");
  const database = await stateDatabase(home, textOf(reading.env?.CODEX_SQLITE_HOME));
  const files = [list, ...(database === undefined ? [] : databaseStamps(database))];
  return lastThreads(files, () => readThreads(list, database, reading));
}

async function readThreads(
  list: string,
  database: string | undefined,
  reading: Reading,
): Promise<CodexThreads> {
  const titles = new Map<string, string>();
  const parents = new Map<string, string>();
  const quiet = { ...reading, malformed: () => {}, advanced: () => {} };
  try {
    for await (const { value } of jsonLines(list, quiet)) {
      const id = textOf(value.id);
      const name = textOf(value.thread_name);
      if (id !== undefined && name !== undefined) titles.set(id, name);
    }
  } catch {
    reading.signal.throwIfAborted(); // newer releases have no such file
  }
  if (database !== undefined) await readDatabase(database, { titles, parents }, reading);
  return { titles, parents };
}

async function readDatabase(
  path: string,
  { titles, parents }: { titles: Map<string, string>; parents: Map<string, string> },
  reading: Reading,
): Promise<void> {
  try {
    using db = await openSource(path, reading);
    if (db.hasTable("threads"))
      for (const row of db.each("SELECT * FROM threads")) {
        const title = textOf(row.name) ?? textOf(row.title);
        if (typeof row.id === "string" && title !== undefined) titles.set(row.id, title);
      }
    if (db.hasTable("thread_spawn_edges"))
      for (const row of db.each("SELECT parent_thread_id, child_thread_id FROM thread_spawn_edges"))
        parents.set(String(row.child_thread_id), String(row.parent_thread_id));
  } catch (cause) {
    reading.signal.throwIfAborted();
    reading.unreadable(path, describeCause(cause));
  }
}

/** The database with the highest number. A variable or the setting `sqlite_home` moves it; a copied home has it beside the transcripts. */
async function stateDatabase(home: string, named: string | undefined): Promise<string | undefined> {
  const config = await readFile(join(home, "config.toml"), "utf8").catch(() => "");
  // Settings of the whole program stand before the first table.
  const moved = /^\s*sqlite_home\s*=\s*["']([^"'\n]+)["']/m.exec(config.split(/^\s*\[/m)[0] ?? "")?.[1];
  for (const folder of [named, moved, "."]) {
    if (folder === undefined) continue;
    const place = resolve(home, folder);
    const names = await readdir(place).catch(() => []); // settings may name a folder of another machine
    const numbers = names.flatMap((name) => /^state_(\d+)\.sqlite$/.exec(name)?.[1] ?? []).map(Number);
    if (numbers.length > 0) return join(place, `state_${Math.max(...numbers)}.sqlite`);
  }
  return undefined;
}

// ---- One response item as a message, without the text that Codex puts into user messages and no user wrote ----

/** Encrypted, or a recap of turns that are still in the file. `other` is what Codex writes for items that it does not know itself. */
const SKIPPED_ITEMS = names(`
  additional_tools compaction compaction_summary compaction_trigger context_compaction ghost_snapshot
  other
`);

/** Undefined for items that are no part of the conversation. */
function itemDraft(item: Json, id: string, isSubagent: boolean, reading: Reading): Draft | undefined {
  const type = textOf(item.type) ?? (item.role === undefined ? "" : "message");
  if (type === "message") {
    if (item.role === "user") return { id, role: "user", text: userText(item.content, reading.unknown) };
    const role = item.role === "developer" ? "system" : item.role;
    return { id, role, text: outputText(item.content, reading) };
  }
  // A message between agents: the task of a subagent, or in its parent's file the report that comes back.
  if (type === "agent_message") {
    const text = outputText(item.content, reading);
    if (isSubagent) return { id, role: "user", text };
    return text === ""
      ? undefined
      : { id, role: "tool", text, toolName: textOf(item.author) ?? "agent_message" };
  }
  const call = callOf(type, item);
  if (call !== undefined) {
    const toolCalls = [toolCall(textOf(item.call_id) ?? textOf(item.id) ?? id, ...call)];
    // `result` is the picture itself.
    return { id, role: "assistant", text: type === "image_generation_call" ? "[image]" : "", toolCalls };
  }
  if (type.endsWith("_output")) {
    const output =
      type === "tool_search_output"
        ? joined(listOf(item.tools).map((tool) => textOf(recordOf(tool)?.name)))
        : resultText(item.output, reading);
    return { id, role: "tool", text: output, toolCallId: textOf(item.call_id) };
  }
  if (!SKIPPED_ITEMS.has(type)) reading.unknown(`item ${type || "without type"}`);
  return undefined;
}

/** The name of the tool, and what it was given. */
function callOf(type: string, item: Json): [name: unknown, given: unknown] | undefined {
  if (type === "function_call") return [item.name, item.arguments];
  if (type === "custom_tool_call") return [item.name, { input: item.input ?? "" }];
  if (type === "local_shell_call") return ["local_shell", item.action];
  if (type === "web_search_call") return ["web_search", item.action];
  if (type === "tool_search_call") return ["tool_search", item.arguments];
  if (type === "image_generation_call") return ["image_generation", { prompt: item.revised_prompt ?? "" }];
  return undefined;
}

/** The output is text, a list of blocks, or JSON text with both the output and facts about the run. */
function resultText(output: unknown, reading: Reading): string {
  if (typeof output !== "string")
    return Array.isArray(output)
      ? outputText(output, reading)
      : (textOf(recordOf(output)?.content) ?? textOf(recordOf(output)?.output) ?? "");
  if (!output.startsWith('{"output":')) return output;
  return textOf(recordOf(jsonOf(output))?.output) ?? output;
}

function outputText(content: unknown, reading: Reading): string {
  return blocksOf(content, reading.unknown, (block) => {
    const text = textOf(block.text) ?? textOf(block.refusal);
    if (text !== undefined) return { type: "text", text };
    return /text$|^encrypted/.test(textOf(block.type) ?? "") ? undefined : block;
  }).text;
}

/** Editors put open files before the prompt, and this line between them. */
const REQUEST_MARK = /^## My request for Codex:[ \t]*\n?/m;
/** Codex writes the first around an image that the user attached, the others around what comes from other agents. */
const OWN_TAG = /^\s*(?:<\/?(?:image|audio)\b[^>]*>\s*$|<external_)/;

/** Empty when every block is injected. */
function userText(content: unknown, unknown: (type: string) => void): string {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return blocksOf(blocks, unknown, (block) => {
    const text = textOf(block.text);
    if (text === undefined) return block.type === "input_text" || block.type === "text" ? undefined : block;
    return { type: "text", text: OWN_TAG.test(text) ? "" : requestOf(strippedUserText(text)) };
  }).text;
}

/** The folder in the first message of the releases that record it nowhere else. */
function contextFolder(content: unknown): string | undefined {
  for (const item of listOf(content)) {
    const text = textOf(recordOf(item)?.text);
    if (text?.startsWith("<environment_context>") !== true) continue;
    return (
      /<cwd>([^<]+)<\/cwd>/.exec(text)?.[1] ?? /^Current working directory: (.+)$/m.exec(text)?.[1]
    )?.trim();
  }
  return undefined;
}

function requestOf(text: string): string {
  const mark = REQUEST_MARK.exec(text);
  return mark === null ? text : text.slice(mark.index + mark[0].length).trim();
}
