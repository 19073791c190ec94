// Chat sessions of VS Code and the editors made from it: one JSON object, or a log of changes to it, per session.
import { stat } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";
import { type Draft, format } from "../declare.ts";
import { wholeJson } from "../kit/json-array.ts";
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
import { vscodeUserFolders, workspaceFolderOf } from "../kit/vscode-user.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, SessionFacts, ToolCall, TranscriptMessage, Unit, Walking } from "../reader.ts";
import { copilotEvents } from "./copilot-cli.ts";

/** Folders that hold chat sessions. `transferredChatSessions` is a copy for another window. */
const STORES: ReadonlySet<string> = new Set(["chatSessions", "emptyWindowChatSessions"]);
/** Copilot Chat keeps the newest 20 sessions here for hooks, in the format of its CLI. */
const TRANSCRIPTS = "transcripts";
const EXTENSION = "GitHub.copilot-chat";

export const vscodeChat = format({
  source: "vscode-chat",
  title: "VS Code chat",
  evidence: "S",
  roots: (place) => vscodeUserFolders(place),
  units: newestOfEach,
  recognises: ({ first }) => {
    const state = first.kind === 0 ? recordOf(first.v) : first;
    return Array.isArray(state?.requests) && ("sessionId" in state || "responderUsername" in state);
  },
  read: async function* ({ path }, reading) {
    const folder = dirname(path);
    const isTranscript = basename(folder) === TRANSCRIPTS;
    const cwd = await workspaceFolderOf(isTranscript ? dirname(dirname(folder)) : dirname(folder));
    const fallback = basename(path).replace(/\.jsonl?$/, "");
    if (isTranscript) return yield* copilotEvents(path, { nativeId: fallback, cwd }, reading);
    const state = path.endsWith(".jsonl")
      ? await replayed(path, reading)
      : recordOf(await wholeJson(path, reading));
    if (state === undefined) return;
    const requests = recordsOf(state.requests);
    const nativeId = textOf(state.sessionId) ?? fallback;
    yield { nativeId, cwd, title: textOf(state.customTitle), startedAt: timeOf(state.creationDate) };
    for (const [index, request] of requests.entries()) {
      reading.signal.throwIfAborted();
      if (!isFinished(request, index === requests.length - 1)) continue;
      for (const said of chatTurn(request, nativeId, reading)) yield "role" in said ? said : { cwd, ...said };
    }
  },
});

/** Opening a folder copies its sessions into another store, so the same session may lie in several: the newest file is read. */
async function* newestOfEach(root: string, walking: Walking): AsyncGenerator<Unit> {
  const newest = new Map<string, { readonly path: string; readonly rank: number; readonly at: number }>();
  const file = (path: string): boolean => path === root || rankOf(path) > 0;
  for await (const path of filesBelow(root, { file, folder: mayHoldSessions, maxDepth: 5 }, walking)) {
    const rank = rankOf(path);
    const at = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
    const id = basename(path).replace(/\.jsonl?$/, "");
    const other = newest.get(id);
    if (other === undefined || rank > other.rank || (rank === other.rank && at >= other.at))
      newest.set(id, { path, rank, at });
  }
  for (const { path } of newest.values())
    yield { path, stamps: [path, join(dirname(dirname(path)), "workspace.json")] };
}

/** Keeps the walk out of what extensions and the editor store beside the sessions. */
function mayHoldSessions(path: string): boolean {
  const name = basename(path);
  const parent = basename(dirname(path));
  if (parent === "User") return name === "workspaceStorage" || name === "globalStorage";
  if (parent === "globalStorage") return STORES.has(name);
  if (parent === EXTENSION) return name === TRANSCRIPTS;
  if (basename(dirname(dirname(path))) === "workspaceStorage") return STORES.has(name) || name === EXTENSION;
  return name !== "node_modules";
}

/** Transcripts for hooks have less than the stores and count only where no store has the session. */
function rankOf(path: string): number {
  const folder = dirname(path);
  if (!/\.jsonl?$/.test(path)) return 0;
  if (STORES.has(basename(folder))) return 2;
  return basename(folder) === TRANSCRIPTS && basename(dirname(folder)) === EXTENSION ? 1 : 0;
}

/** Values of `modelState` that say complete, cancelled and failed; the others are pending and waiting for the user. */
const FINAL_STATES: ReadonlySet<number | undefined> = new Set([1, 2, 3]);

/** A running request is left for the next run. Older versions have no state: there a result or a later request ends it. */
function isFinished(request: Readonly<Record<string, unknown>>, isLast: boolean): boolean {
  const state = recordOf(request.modelState);
  if (state !== undefined) return FINAL_STATES.has(numberOf(state.value));
  return !isLast || recordOf(request.result) !== undefined || request.isCanceled === true;
}

/** Parts that can be large and are not used: typed but unsent input, attached files and images, rendered prompts. */
const UNUSED = names(`
  inputState variableData contentReferences codeCitations followups editedFileEvents renderedUserMessage
  renderedGlobalContext
`);
/** How deep they are looked for. */
const MAX_DEPTH = 5;

/** The value after all changes, which stand on one line each. Undefined for an empty file. Throws if the log does not begin with a whole value. */
async function replayed(path: string, reading: Reading): Promise<Json | undefined> {
  let state: Json | undefined;
  for await (const { line, value: change } of jsonLines(path, reading)) {
    const steps = listOf(change.k);
    const value = withoutUnused(change.v, 0);
    if (change.kind === 0) state = recordOf(value);
    else if (state === undefined) throw new Error("the log does not begin with a whole state");
    else if (change.kind !== 1 && change.kind !== 2 && change.kind !== 3)
      reading.unknown(`kind ${String(change.kind)}`);
    else if (!steps.some((step) => UNUSED.has(step)) && !applied(state, steps, { ...change, v: value }))
      reading.malformed(line, `no place for a change at ${steps.join("/")}`);
  }
  return state;
}

/** Removes in place, so that its memory is free before the next line is read. */
function withoutUnused(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  for (const [key, item] of Object.entries(value))
    if (UNUSED.has(key)) delete (value as Json)[key];
    else withoutUnused(item, depth + 1);
  return value;
}

/** Sets (1), pushes (2) or deletes (3) what the path leads to. False if it leads nowhere in this state. */
function applied(state: Json, path: readonly unknown[], { kind, v, i: from }: Json): boolean {
  let at: unknown = state;
  for (const step of path.slice(0, -1)) at = childOf(at, step);
  const last = path.at(-1);
  if (kind !== 2) return assigned(at, last, kind === 1 ? v : undefined);
  const list = childOf(at, last) ?? [];
  if (!Array.isArray(list) || (from !== undefined && !isIndex(from))) return false;
  if (from !== undefined && from < list.length) list.length = from;
  for (const value of listOf(v)) list.push(value);
  return assigned(at, last, list);
}

function childOf(parent: unknown, step: unknown): unknown {
  if (Array.isArray(parent)) return isIndex(step) ? parent[step] : undefined;
  const record = recordOf(parent);
  return record !== undefined && Object.hasOwn(record, String(step)) ? record[String(step)] : undefined;
}

/** A list grows by one at most, so that a hostile index cannot make it huge. */
function assigned(parent: unknown, step: unknown, value: unknown): boolean {
  const record = recordOf(parent);
  if (Array.isArray(parent) && isIndex(step) && step <= parent.length) parent[step] = value;
  else if (record !== undefined && typeof step === "string" && step !== "__proto__") record[step] = value;
  else return false;
  return true;
}

function isIndex(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0;
}

/** Text of the model, then the tools it called. An answer is a list of these. */
type Step = {
  text: string;
  thinking: string;
  readonly at?: number | undefined;
  readonly calls: Call[];
};
type Call = ToolCall & { readonly result: string | undefined };

type Told = Pick<Reading, "unknown">;

/** Response parts without conversation: progress, buttons, confirmations, notices, undo points. */
const SILENT_PARTS = names(`
  progressMessage progressTask progressTaskSerialized undoStop codeblockUri warning command confirmation
  elicitation elicitation2 elicitationSerialized notebookEditGroup prepareToolInvocation
  mcpServersStarting extensions pullRequest treeData markdownVuln references codeCitation usedContext
  multiDiffData clearToPreviousToolInvocation move workspaceEdit hook questionCarousel disabledClaudeHooks
  planReview
`);

/** Messages of the turn in the session `nativeId`; subagents that it started follow as sessions of their own. */
function* chatTurn(request: Json, nativeId: string, told: Told): Generator<Draft | SessionFacts> {
  const isActive = request.shouldBeRemovedOnSend || request.isHidden === true ? false : undefined;
  const id = textOf(request.requestId);
  const at = timeOf(request.timestamp);
  const text = textOf(request.message) ?? textOf(recordOf(request.message)?.text) ?? "";
  yield { id, role: "user", text, at, isActive };

  const parts = recordsOf(request.response);
  const shown = stepsOfParts(
    parts.filter((part) => textOf(part.subAgentInvocationId) === undefined),
    told,
  );
  const result = recordOf(request.result);
  const metadata = recordOf(result?.metadata);
  const steps = stepsOfRounds(metadata, shown) ?? shown;
  const answer = textOf(request.responseId) ?? (id === undefined ? undefined : `${id}-response`);
  const elapsed = numberOf(recordOf(result?.timings)?.totalElapsed);
  const last: Partial<TranscriptMessage> = {
    usage: usageOf(metadata),
    finishReason: recordOf(result?.errorDetails) === undefined ? undefined : "error",
    at: at === undefined || elapsed === undefined ? undefined : at + elapsed / 1000,
  };
  const model = textOf(metadata?.resolvedModel) ?? textOf(request.modelId);
  yield* messagesOf(steps, { answer, model, isActive }, last);
  yield* subagents(parts, nativeId, { at, isActive }, told);
}

type Common = {
  readonly answer: string | undefined;
  readonly model: string | undefined;
  readonly isActive: boolean | undefined;
};

function* messagesOf(
  steps: readonly Step[],
  { answer, model, isActive }: Common,
  last: Partial<TranscriptMessage>,
): Generator<Draft> {
  for (const [index, { text, thinking, at, calls }] of steps.entries()) {
    const toolCalls = calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
    const id = answer === undefined ? undefined : index === 0 ? answer : `${answer}/${index}`;
    const message = { id, role: "assistant", text, at, model, isActive, reasoning: thinking, toolCalls };
    yield index === steps.length - 1 ? { ...message, ...last, at: at ?? last.at } : message;
    for (const { id: toolCallId, name: toolName, result: found } of calls) {
      const own = answer === undefined ? undefined : `${answer}/${toolCallId}`;
      if (found !== undefined) yield { id: own, role: "tool", text: found, toolCallId, toolName, isActive };
    }
  }
}

/** What the model said and called, as Copilot Chat keeps it: exact where the shown parts are abridged. Undefined if it is not there. */
function stepsOfRounds(metadata: Json | undefined, shown: readonly Step[]): readonly Step[] | undefined {
  const rounds = recordsOf(metadata?.toolCallRounds);
  if (rounds.length === 0) return undefined;
  const results = recordOf(metadata?.toolCallResults) ?? {};
  const steps = rounds.map((round): Step => {
    const thinking = recordOf(round.thinking)?.text ?? round.thinking;
    return {
      text: textOf(round.response) ?? "",
      thinking: Array.isArray(thinking) ? thinking.map(textOf).join("") : (textOf(thinking) ?? ""),
      at: timeOf(round.timestamp),
      calls: listOf(round.toolCalls).flatMap((value) => {
        const call = recordOf(value);
        const id = textOf(call?.id);
        if (call === undefined || id === undefined) return [];
        const result = recordOf(results[id]);
        const text = result === undefined ? undefined : listOf(result.content).map(resultText).join("\n");
        return [{ ...toolCall(plainId(id), call.name, call.arguments), result: text }];
      }),
    };
  });
  const end = shown.at(-1);
  const isOpen = steps.at(-1)?.calls.length !== 0;
  if (isOpen && end !== undefined && end.calls.length === 0) steps.push(end); // the last answer is only among the shown parts
  return steps.filter(isNotEmpty);
}

/** VS Code adds a counter to the ids of the model, to keep them apart over several sessions. */
function plainId(id: string): string {
  return id.replace(/__vscode-\d+$/, "");
}

/** Parts of a tool's result: text, a tree of prompt elements, or data. */
function resultText(part: unknown): string {
  const record = recordOf(part);
  if (record === undefined) return textOf(part) ?? "";
  if (typeof record.value === "string") return record.value;
  if (textOf(record.mimeType)?.startsWith("image/")) return "[image]";
  return treeText(recordOf(record.value)?.node, 0);
}

const MAX_TREE_DEPTH = 100;

function treeText(node: unknown, depth: number): string {
  const record = recordOf(node);
  if (record === undefined || depth > MAX_TREE_DEPTH) return "";
  return (
    (textOf(record.text) ?? "") +
    listOf(record.children)
      .map((child) => treeText(child, depth + 1))
      .join("")
  );
}

function usageOf(metadata: Json | undefined): TranscriptMessage["usage"] {
  const inputTokens = numberOf(metadata?.promptTokens);
  const outputTokens = numberOf(metadata?.outputTokens);
  return inputTokens === undefined && outputTokens === undefined ? undefined : { inputTokens, outputTokens };
}

/** Text that follows a tool call begins a new step. */
function stepsOfParts(parts: readonly Json[], told: Told): readonly Step[] {
  const steps: Step[] = [];
  const open = (): Step => {
    const last = steps.at(-1);
    if (last !== undefined && last.calls.length === 0) return last;
    const next: Step = { text: "", thinking: "", calls: [] };
    steps.push(next);
    return next;
  };
  for (const part of parts) {
    const kind = textOf(part.kind);
    if (kind === undefined || kind === "markdownContent") open().text += markdownOf(part.content ?? part);
    else if (kind === "thinking")
      open().thinking += listOf(part.value).map(textOf).join("") || (textOf(part.value) ?? "");
    else if (kind === "inlineReference") open().text += `\`${referenceName(part)}\``;
    else if (kind === "textEditGroup") {
      const step = open();
      step.text = joined([step.text.trimEnd(), `[edited: ${fileName(part.uri)}]\n\n`]);
    } else if (kind === "toolInvocationSerialized") (steps.at(-1) ?? open()).calls.push(callOf(part));
    else if (!SILENT_PARTS.has(kind)) told.unknown(`response part ${kind}`);
  }
  for (const step of steps) step.text = step.text.trim();
  return steps.filter(isNotEmpty);
}

function isNotEmpty({ text, thinking, calls }: Step): boolean {
  return text.trim() !== "" || thinking !== "" || calls.length > 0;
}

/** A text, or Markdown with its text in `value`. */
function markdownOf(value: unknown): string {
  return textOf(value) ?? textOf(recordOf(value)?.value) ?? "";
}

function callOf(part: Json): Call {
  const specific = recordOf(part.toolSpecificData);
  const details = recordOf(part.resultDetails);
  const line = recordOf(specific?.commandLine);
  const command =
    textOf(line?.userEdited) ??
    textOf(line?.toolEdited) ??
    textOf(line?.original) ??
    textOf(specific?.command);
  const given = specific?.rawInput ?? jsonOf(textOf(details?.input)) ?? textOf(details?.input);
  const message = markdownOf(part.invocationMessage);
  const output = listOf(details?.output).map(resultText).join("\n");
  const done = part.isComplete === false ? "" : markdownOf(part.pastTenseMessage);
  const result = textOf(specific?.result) ?? textOf(output) ?? textOf(done);
  const id = plainId(textOf(part.toolCallId) ?? "");
  const fallback = command === undefined ? { message } : { command };
  return { ...toolCall(id, part.toolId, given ?? fallback), result };
}

function referenceName(part: Json): string {
  const reference = recordOf(part.inlineReference);
  return textOf(part.name) ?? textOf(reference?.name) ?? fileName(reference?.uri ?? reference);
}

/** The last part of a URI, which is stored as text or as an object. */
function fileName(uri: unknown): string {
  const path = textOf(uri) ?? textOf(recordOf(uri)?.fsPath) ?? textOf(recordOf(uri)?.path) ?? "file";
  return posix.basename(path.replaceAll("\\", "/"));
}

/** The parts of a subagent carry the id of the tool call that started it; that call has its task and its answer. */
function* subagents(
  parts: readonly Json[],
  nativeId: string,
  { at, isActive }: Pick<TranscriptMessage, "at" | "isActive">,
  told: Told,
): Generator<Draft | SessionFacts> {
  const runs = Map.groupBy(parts, (part) => textOf(part.subAgentInvocationId));
  let hasLeft = false;
  for (const part of parts) {
    const specific = recordOf(part.toolSpecificData);
    const id = textOf(part.toolCallId);
    const text = textOf(specific?.prompt);
    if (specific?.kind !== "subagent" || id === undefined || text === undefined) continue;
    hasLeft = true;
    const session = `${nativeId}-agent-${plainId(id)}`;
    const title = textOf(specific.description) ?? textOf(specific.agentName);
    yield { nativeId: session, parent: nativeId, title, startedAt: at };
    yield { id: `${session}-task`, role: "user", text, at, isActive };
    const steps = [...stepsOfParts(runs.get(id) ?? [], told)];
    const result = textOf(specific.result);
    if (result !== undefined) steps.push({ text: result, thinking: "", calls: [] });
    yield* messagesOf(steps, { answer: session, model: textOf(specific.modelName), isActive }, {});
  }
  if (hasLeft) yield { nativeId };
}
