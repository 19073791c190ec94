// One request of a VS Code chat session and the answer to it.
import { posix } from "node:path";
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { Draft } from "../../declare.ts";
import {
  type Json,
  joined,
  jsonOf,
  listOf,
  numberOf,
  recordOf,
  textOf,
  timeOf,
  toolCall,
} from "../../kit/values.ts";
import type { Reading, SessionFacts, ToolCall, TranscriptMessage } from "../../reader.ts";

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
const SILENT_PARTS: ReadonlySet<string> = new Set([
  ...["progressMessage", "progressTask", "progressTaskSerialized", "undoStop", "codeblockUri", "warning"],
  ...["command", "confirmation", "elicitation", "elicitation2", "elicitationSerialized", "notebookEditGroup"],
  ...["prepareToolInvocation", "mcpServersStarting", "extensions", "pullRequest", "treeData", "markdownVuln"],
  ...["references", "codeCitation", "usedContext", "multiDiffData", "clearToPreviousToolInvocation", "move"],
  ...["workspaceEdit", "hook", "questionCarousel", "disabledClaudeHooks", "planReview"],
]);

/** Messages of the turn in the session `nativeId`; subagents that it started follow as sessions of their own. */
export function* chatTurn(request: Json, nativeId: string, told: Told): Generator<Draft | SessionFacts> {
  const isActive = request.shouldBeRemovedOnSend || request.isHidden === true ? false : undefined;
  const id = textOf(request.requestId);
  const at = timeOf(request.timestamp);
  const text = textOf(request.message) ?? textOf(recordOf(request.message)?.text) ?? "";
  yield { id, role: "user", text, at, isActive };

  const parts = listOf(request.response).filter(isRecord);
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
  const rounds = listOf(metadata?.toolCallRounds).filter(isRecord);
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
