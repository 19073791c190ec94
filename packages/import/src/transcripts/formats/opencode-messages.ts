// Messages of opencode and the products built on it, from their records in a database or in files.

import type { Draft } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import {
  type Json,
  joined,
  names,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
  toolCall,
  usageOf,
} from "../kit/values.ts";
import type { Reading, SessionFacts, Usage } from "../reader.ts";

export type StoredMessage = {
  readonly id: string;
  readonly data: Json;
  /** In the order of their ids. */
  readonly parts: readonly Json[];
  readonly at?: number | undefined;
  readonly path?: string | undefined;
};

/** Known part types without anything to keep. */
const SILENT_PARTS = names("compaction step-start step-finish snapshot patch agent retry");
const SILENT_EVENTS = names("synthetic compaction agent-switched model-switched");
/** The product gives these until it has made up a title. */
const DEFAULT_TITLE = /^(?:New|Child) session - \d{4}-\d\d-\d\dT/;

/** Facts of a session record. `fields` has the names of the JSON files; a row of the database is renamed to them. */
export function sessionFacts(nativeId: string, fields: Json, worktree: string | undefined): SessionFacts {
  const title = textOf(fields.title);
  const time = recordOf(fields.time);
  return {
    nativeId,
    title: title === undefined || DEFAULT_TITLE.test(title) ? undefined : title,
    // Every session outside a repository belongs to the project `global`, whose worktree is "/".
    cwd: textOf(fields.directory) ?? (worktree === "/" ? undefined : worktree),
    startedAt: timeOf(time?.created),
    endedAt: timeOf(time?.updated),
    cliVersion: textOf(fields.version),
    parent: textOf(fields.parentID),
  };
}

/** Whether `/undo` took this message back: the one it names or a later one. Ids are made from the time, so they sort by it. */
export function isReverted(messageId: string, revert: Json | undefined): boolean {
  const from = textOf(revert?.messageID);
  return from !== undefined && messageId >= from;
}

/** The rows of one message, none for what is not conversation or still being written. */
export function* messageRows(stored: StoredMessage, isActive: boolean, reading: Reading): Generator<Draft> {
  const { id, data, path } = stored;
  const role = textOf(data.role) ?? "";
  const time = recordOf(data.time);
  const shared = { id, path, isActive: isActive ? undefined : false };
  const at = timeOf(time?.created) ?? stored.at;
  if (role === "user") {
    yield { ...shared, role, text: userText(stored.parts, reading), at };
  } else if (role !== "assistant") reading.unknown(`role ${role || "missing"}`);
  // A message with `summary` is the recap that a compaction made.
  else if (data.summary !== true && isFinished(data)) {
    yield* assistantRows(stored.parts, data, { ...shared, at, model: textOf(data.modelID) }, reading);
  }
}

/** The rows of one record of the newer table, which keeps a message in one piece. */
export function* eventRows(
  stored: Omit<StoredMessage, "parts">,
  type: string,
  isActive: boolean,
  reading: Reading,
): Generator<Draft> {
  const { id, data } = stored;
  const shared = {
    id,
    at: timeOf(recordOf(data.time)?.created) ?? stored.at,
    isActive: isActive ? undefined : false,
  };
  if (type === "user")
    yield {
      ...shared,
      role: "user",
      text: joined([textOf(data.text), ...recordsOf(data.files).map(fileText)]),
    };
  else if (type === "shell") {
    // A command that the user ran from the prompt.
    const command = textOf(data.command) ?? "";
    const toolCallId = textOf(data.callID) ?? id;
    yield { ...shared, role: "assistant", text: "", toolCalls: [toolCall(toolCallId, "shell", { command })] };
    const text = textOf(data.output) ?? textOf(recordOf(data.output)?.output);
    if (text !== undefined) yield { ...shared, id: `${id}:shell`, role: "tool", text, toolCallId };
  } else if (type === "assistant") {
    const model = recordOf(data.model);
    if (!isFinished(data)) return;
    const fields = { ...shared, model: textOf(model?.id) ?? textOf(model?.modelID) };
    yield* assistantRows(recordsOf(data.content), data, fields, reading);
  } else if (type === "system") yield { ...shared, role: "system", text: textOf(data.text) ?? "" };
  else if (!SILENT_EVENTS.has(type)) reading.unknown(`message ${type || "without type"}`);
}

/** Text added by the program is marked `synthetic`: the content of attached files, reminders. */
function userText(parts: readonly Json[], reading: Reading): string {
  const texts: (string | undefined)[] = [];
  let typed = 0;
  let synthetic = 0;
  for (const part of parts) {
    const type = textOf(part.type) ?? "";
    if (type === "text" && part.synthetic === true) synthetic += 1;
    else if (type === "text" || type === "subtask") {
      const text = textOf(part.text) ?? textOf(part.prompt);
      if (text !== undefined) typed += 1;
      texts.push(text);
    } else if (type === "file") texts.push(fileText(part));
    else if (!SILENT_PARTS.has(type)) reading.unknown(`part ${type || "without type"}`);
  }
  return typed === 0 && synthetic > 0 ? "" : joined(texts);
}

function fileText(file: Json): string {
  const name = textOf(file.filename) ?? textOf(file.name);
  if (name !== undefined) return `[file: ${name}]`;
  return textOf(file.mime)?.startsWith("image/") ? "[image]" : "[file]";
}

/** Until then the message may still grow, so it is left for the next import. */
function isFinished(data: Json): boolean {
  const isSet = (value: unknown): boolean => value !== undefined && value !== null;
  return isSet(recordOf(data.time)?.completed) || isSet(data.finish) || isSet(data.error);
}

/** The answer, and the results of its tools as rows of their own. */
function* assistantRows(
  parts: readonly Json[],
  data: Json,
  fields: Omit<Draft, "role" | "text">,
  reading: Reading,
): Generator<Draft> {
  const unknown = (type: string): void => reading.unknown(type.replace("block", "part"));
  const { text, reasoning, toolCalls } = blocksOf(parts, unknown, (part) => {
    const { type, tool, name, state } = part;
    if (type === "tool")
      return {
        type: "tool_use",
        id: callId(part),
        name: textOf(tool) ?? name,
        input: recordOf(state)?.input,
      };
    if (type === "file") return { type: "text", text: fileText(part) };
    return SILENT_PARTS.has(textOf(type) ?? "") || (type === "text" && part.synthetic === true)
      ? undefined
      : part;
  });
  const finishReason = textOf(data.finish);
  const usage = countsOf(recordOf(data.tokens));
  yield { ...fields, role: "assistant", text, reasoning, toolCalls, finishReason, usage };
  const { id, path, isActive } = fields;
  for (const part of parts) {
    const state = part.type === "tool" ? recordOf(part.state) : undefined;
    if (state?.status !== "completed" && state?.status !== "error") continue;
    const output = textOf(state.output) ?? blocksOf(state.content, reading.unknown).text;
    const error = textOf(state.error) ?? textOf(recordOf(state.error)?.message);
    const toolCallId = callId(part);
    yield {
      ...{ id: `${id}:${toolCallId}`, role: "tool", path, isActive, toolCallId },
      text: state.status === "error" ? joined([output, error]) : output,
      at: timeOf(recordOf(state.time)?.end) ?? fields.at,
    };
  }
}

function callId({ callID, id }: Json): string {
  return textOf(callID) ?? textOf(id) ?? "";
}

function countsOf(tokens: Json | undefined): Usage | undefined {
  const counts = tokens && { ...tokens, ...recordOf(tokens.cache) };
  return usageOf(counts, {
    inputTokens: "input",
    outputTokens: "output",
    reasoningTokens: "reasoning",
    cacheReadTokens: "read",
    cacheWriteTokens: "write",
  });
}
