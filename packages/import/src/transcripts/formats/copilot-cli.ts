// GitHub Copilot CLI: one event log per session below ~/.copilot/session-state. Copilot Chat in VS Code writes the same events for hooks.
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import { type Draft, format, type Said } from "../declare.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { joined, toolCall } from "../kit/parts.ts";
import {
  type Json,
  jsonOf,
  listOf,
  names,
  numberOf,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
} from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, SessionFacts, ToolCall, Usage } from "../reader.ts";

/** Folders of a session that hold copies of files and no conversation. */
const OTHER_FOLDERS: ReadonlySet<string> = new Set(["checkpoints", "files", "research", "node_modules"]);

export const copilotCli = format({
  source: "copilot-cli",
  title: "GitHub Copilot CLI",
  evidence: "S",
  version: 2,
  roots: ({ home, env }) => [join(textOf(env.COPILOT_HOME) ?? join(home, ".copilot"), "session-state")],
  units: async function* (root, walking) {
    const folder = (path: string): boolean => !OTHER_FOLDERS.has(basename(path));
    const file = (path: string): boolean => path.endsWith(".jsonl");
    for await (const path of filesBelow(root, { file, folder, maxDepth: 3 }, walking))
      if (basename(path) === "events.jsonl" || isFlat(path, root))
        yield { path, stamps: [path, join(dirname(path), "workspace.yaml")] };
  },
  recognises: ({ first }) =>
    recordOf(first.data) !== undefined && "parentId" in first && /^\w+\.\w+$/.test(String(first.type)),
  read: async function* ({ path }, reading) {
    const isFolder = basename(path) === "events.jsonl";
    const nativeId = isFolder ? basename(dirname(path)) : basename(path, ".jsonl");
    const title = isFolder ? await userTitle(dirname(path)) : undefined;
    yield* copilotEvents(path, { nativeId, title }, reading);
  },
});

/** Older versions put the log of a session into session-state itself. Other logs in the folder of a session are not its events. */
function isFlat(path: string, root: string): boolean {
  return path === root || dirname(path) === root || basename(dirname(path)) === "session-state";
}

/** The name that the user gave to the session. */
async function userTitle(folder: string): Promise<string | undefined> {
  try {
    return textOf(recordOf(parse(await readFile(join(folder, "workspace.yaml"), "utf8")))?.name);
  } catch {
    return undefined; // older sessions have none, and a title is not worth the session
  }
}

/** Known, and nothing in them is conversation. Compaction and truncation leave the original events in the file. */
const SILENT_TYPES = names(`
  abort assistant.turn_start assistant.turn_end assistant.intent assistant.reasoning assistant.usage assistant.idle
  session.error session.idle session.info session.warning session.handoff session.truncation session.compaction_start
  session.compaction_complete session.context_cleared session.usage_info session.task_complete session.mode_changed
  session.plan_changed session.workspace_file_changed session.binary_asset
  tool.user_requested tool.execution_progress tool.execution_partial_result
  subagent.completed subagent.failed subagent.selected subagent.deselected
`);
const SILENT_GROUPS =
  /^(?:system|hook|permission|skill|user_input|elicitation|external_tool|command|mcp|sampling)\./;

type Told = Pick<Reading, "signal" | "malformed" | "advanced" | "unknown" | "options">;
type Given = { readonly session: string; readonly id: string };
type Place = { readonly id: string | undefined; readonly line: number; readonly at: number | undefined };
/** The parts of one long answer that were read so far. */
type Chunks = {
  readonly agent: string | undefined;
  readonly first: Draft;
  readonly texts: string[];
  readonly calls: ToolCall[];
};

/** `known` holds what other files say: the id to use until the log names one, and facts that win over the log's own. */
export async function* copilotEvents(path: string, known: SessionFacts, reading: Told): AsyncGenerator<Said> {
  const log = new EventLog(known, reading);
  for await (const { line, value } of jsonLines(path, reading)) yield* log.event(value, line);
  yield* log.end();
}

class EventLog {
  readonly #known: SessionFacts;
  readonly #told: Told;
  /** The session that the messages given last belong to; undefined before the first. */
  #current: string | undefined;
  #main: string;
  #cwd: string | undefined;
  /** Of the event that is being read. */
  #place: Place = { id: undefined, line: 0, at: undefined };
  readonly #given: Given[] = [];
  /** How many messages were given before each event. */
  readonly #before = new Map<string, number>();
  readonly #called = new Set<string>();
  /** The key of the subagent that a tool call started. */
  readonly #agents = new Map<string, string>();
  /** The task of each subagent, and of each call that may start one. */
  readonly #tasks = new Map<string, string>();
  readonly #begun = new Set<string>();
  readonly #chunks = new Map<string, Chunks>();
  #totals: Usage | undefined;
  #outputTokens = 0;

  constructor(known: SessionFacts, told: Told) {
    this.#known = known;
    this.#told = told;
    this.#main = known.nativeId;
  }

  *event(value: Json, line: number): Generator<Said> {
    const type = textOf(value.type) ?? "";
    if (value.ephemeral === true || type.endsWith("_delta")) return;
    const data = recordOf(value.data) ?? {};
    const id = textOf(value.id);
    if (id !== undefined) this.#before.set(id, this.#given.length);
    this.#place = { id, line, at: timeOf(value.timestamp) };
    if (type === "session.start") return yield* this.#start(data);
    const agent = this.#agentOf(value, data);
    if (type === "session.resume" || type === "session.context_changed")
      yield* this.#context(recordOf(data.context) ?? data);
    else if (type === "session.title_changed")
      yield* this.#mainFacts({ title: this.#known.title ?? textOf(data.title) });
    else if (type === "session.model_change") yield* this.#mainFacts({ model: textOf(data.newModel) });
    else if (type === "session.shutdown") this.#totals = totalsOf(data.modelMetrics) ?? this.#totals;
    else if (type === "session.snapshot_rewind") yield* this.#rewind(textOf(data.upToEventId));
    else if (type === "subagent.started") yield* this.#agentStarted(value, data);
    else if (type === "user.message") yield* this.#userMessage(agent, data);
    else if (type === "assistant.message") yield* this.#assistantMessage(agent, data);
    else if (type === "tool.execution_start") yield* this.#toolStarted(agent, data);
    else if (type === "tool.execution_complete") yield* this.#toolDone(agent, data);
    else if (!SILENT_TYPES.has(type) && !SILENT_GROUPS.test(type))
      this.#told.unknown(type || "event without type");
  }

  /** Chunks that are still missing their rest are left for the next read, when the file has grown. */
  *end(): Generator<Said> {
    if (this.#current === undefined) return;
    const usage = this.#totals ?? (this.#outputTokens > 0 ? { outputTokens: this.#outputTokens } : undefined);
    if (usage !== undefined) yield* this.#mainFacts({ usage });
  }

  *#start(data: Json): Generator<Said> {
    const nativeId = textOf(data.sessionId);
    // Messages that came before belong to the id of the file already.
    if (this.#current === undefined && nativeId !== undefined) this.#main = nativeId;
    const context = recordOf(data.context) ?? {};
    this.#cwd ??= this.#known.cwd ?? textOf(context.cwd) ?? textOf(context.gitRoot);
    const parent = textOf(data.detachedFromSpawningParentSessionId);
    yield* this.#mainFacts({
      cwd: this.#cwd,
      gitBranch: textOf(context.branch),
      cliVersion: textOf(data.copilotVersion),
      model: textOf(data.selectedModel),
      startedAt: timeOf(data.startTime) ?? this.#place.at,
      parent,
    });
  }

  /** The session keeps its first working directory. */
  *#context(context: Json): Generator<Said> {
    if (this.#cwd !== undefined) return;
    this.#cwd = this.#known.cwd ?? textOf(context.cwd);
    if (this.#cwd !== undefined) yield* this.#mainFacts({ cwd: this.#cwd });
  }

  *#mainFacts(facts: Omit<SessionFacts, "nativeId">): Generator<Said> {
    const isFirst = this.#current === undefined;
    this.#current = this.#main;
    yield { ...(isFirst ? this.#known : {}), ...facts, nativeId: this.#main };
  }

  /** The key of the subagent that an event belongs to. */
  #agentOf(event: Json, data: Json): string | undefined {
    const call = textOf(data.parentToolCallId);
    const started = call === undefined ? undefined : this.#agents.get(call);
    return started ?? textOf(event.agentId) ?? call;
  }

  *#agentStarted(event: Json, data: Json): Generator<Said> {
    const call = textOf(data.toolCallId);
    const key = textOf(event.agentId) ?? textOf(data.agentId) ?? call;
    if (key === undefined) return;
    if (call !== undefined) {
      this.#agents.set(call, key);
      this.#tasks.set(key, this.#tasks.get(call) ?? "");
    }
    yield* this.#switchTo(key, {
      title: textOf(data.agentDisplayName) ?? textOf(data.agentName),
      startedAt: this.#place.at,
    });
  }

  *#switchTo(agent: string | undefined, facts?: Pick<SessionFacts, "title" | "startedAt">): Generator<Said> {
    if (this.#current === undefined) yield* this.#mainFacts({});
    const session = agent === undefined ? this.#main : `${this.#main}-agent-${agent}`;
    if (session === this.#current && facts === undefined) return;
    this.#current = session;
    if (agent === undefined) return yield { nativeId: session, ...facts };
    yield { nativeId: session, parent: this.#main, cwd: this.#cwd, ...facts };
    // The log often has no user message for a subagent: its task is an argument of the call that started it.
    const task = this.#tasks.get(agent);
    if (!task || this.#begun.has(agent)) return;
    this.#begun.add(agent);
    yield this.#message({ ...this.#place, id: `task-${agent}`, role: "user", text: task });
  }

  #message(message: Draft): Draft {
    if (message.id !== undefined && this.#current !== undefined)
      this.#given.push({ session: this.#current, id: message.id });
    return message;
  }

  *#userMessage(agent: string | undefined, data: Json): Generator<Said> {
    yield* this.#unfinishedChunks();
    if (data.isAutopilotContinuation === true || textOf(data.source)?.startsWith("skill-")) return;
    const text = joined([textOf(data.content), ...listOf(data.attachments).map(attachmentText)]);
    if (text === "" || (agent !== undefined && text === this.#tasks.get(agent))) return;
    yield* this.#switchTo(agent);
    yield this.#message({ ...this.#place, role: "user", text });
  }

  *#assistantMessage(agent: string | undefined, data: Json): Generator<Said> {
    const calls = listOf(data.toolRequests).flatMap((request) => this.#callOf(recordOf(request)));
    const text = textOf(data.content) ?? "";
    const reasoning = this.#told.options.includeReasoning ? textOf(data.reasoningText) : undefined;
    this.#outputTokens += numberOf(data.outputTokens) ?? 0;
    const count = numberOf(data.chunkCount) ?? 1;
    const first = { ...this.#place, role: "assistant", text, reasoning, model: textOf(data.model) };
    const key = textOf(data.messageId);
    if (count <= 1 || key === undefined) {
      if (text.trim() === "" && calls.length === 0 && reasoning === undefined) return;
      yield* this.#switchTo(agent);
      yield this.#message({ ...first, toolCalls: calls });
      return;
    }
    const chunks: Chunks = this.#chunks.get(key) ?? { agent, first, texts: [], calls: [] };
    this.#chunks.set(key, chunks);
    chunks.texts.push(text);
    chunks.calls.push(...calls);
    if (chunks.texts.length < count) return;
    this.#chunks.delete(key);
    yield* this.#switchTo(agent);
    yield this.#message(wholeOf(chunks));
  }

  /** A new question of the user shows that the rest of these answers never came. */
  *#unfinishedChunks(): Generator<Said> {
    for (const chunks of this.#chunks.values()) {
      yield* this.#switchTo(chunks.agent);
      yield this.#message(wholeOf(chunks));
    }
    this.#chunks.clear();
  }

  #callOf(request: Json | undefined): readonly ToolCall[] {
    const id = textOf(request?.toolCallId);
    if (request === undefined || id === undefined) return [];
    const call = toolCall(id, textOf(request.name) ?? request.toolName, request.arguments);
    this.#called.add(id);
    const task = textOf(recordOf(jsonOf(call.arguments))?.prompt);
    if (task !== undefined) this.#tasks.set(id, task);
    return [call];
  }

  *#toolStarted(agent: string | undefined, data: Json): Generator<Said> {
    const id = textOf(data.toolCallId);
    if (id === undefined || this.#called.has(id)) return; // a message announced it
    yield* this.#switchTo(agent);
    yield this.#message({ ...this.#place, role: "assistant", text: "", toolCalls: this.#callOf(data) });
  }

  *#toolDone(agent: string | undefined, data: Json): Generator<Said> {
    const toolCallId = textOf(data.toolCallId);
    if (toolCallId !== undefined) this.#tasks.delete(toolCallId);
    const result = recordOf(data.result);
    const error = textOf(data.error) ?? textOf(recordOf(data.error)?.message);
    const content = textOf(result?.content) ?? textOf(result?.detailedContent);
    yield* this.#switchTo(agent);
    yield this.#message({
      ...this.#place,
      role: "tool",
      text: joined([content, error === undefined ? undefined : `Error: ${error}`]),
      toolCallId,
    });
  }

  /** The event named and all after it were taken back. Where the product removed them from the file, there is nothing to do. */
  *#rewind(upTo: string | undefined): Generator<Said> {
    const from = this.#before.get(upTo ?? "");
    if (from === undefined) return;
    this.#chunks.clear();
    for (const [session, given] of Map.groupBy(this.#given.slice(from), (one) => one.session)) {
      this.#current = session;
      yield { nativeId: session };
      yield { kind: "inactive", ids: given.map(({ id }) => id) };
    }
  }
}

function wholeOf({ first, texts, calls }: Chunks): Draft {
  return { ...first, text: texts.join(""), toolCalls: calls };
}

function attachmentText(value: unknown): string | undefined {
  const attachment = recordOf(value);
  if (attachment === undefined) return undefined;
  if (textOf(attachment.mimeType)?.startsWith("image/")) return "[image]";
  const name = textOf(attachment.displayName) ?? textOf(attachment.path) ?? textOf(attachment.title);
  return name === undefined ? undefined : `[file: ${name}]`;
}

/** Metrics of each model, added up. The product counts on over resumes, so the last event has the totals. */
function totalsOf(metrics: unknown): Usage | undefined {
  const models = recordsOf(Object.values(recordOf(metrics) ?? {}).map((model) => recordOf(model)?.usage));
  if (models.length === 0) return undefined;
  const sum = (field: string): number | undefined => {
    const numbers = models.flatMap((usage) => numberOf(usage[field]) ?? []);
    return numbers.length === 0 ? undefined : numbers.reduce((total, next) => total + next, 0);
  };
  return {
    inputTokens: sum("inputTokens"),
    outputTokens: sum("outputTokens"),
    cacheReadTokens: sum("cacheReadTokens"),
    cacheWriteTokens: sum("cacheWriteTokens"),
    reasoningTokens: sum("reasoningTokens"),
  };
}
