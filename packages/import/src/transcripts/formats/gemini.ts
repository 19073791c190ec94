// Sessions of Gemini CLI: a log of records that may replace or take back earlier messages, and the older files of one JSON object.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { isClientSummary } from "@hermes-memory/core/internal/security";
import { type Draft, format, type Said } from "../declare.ts";
import type { Blocks } from "../kit/blocks.ts";
import { partsOf } from "../kit/gemini-parts.ts";
import { recordAt, wholeJson } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { joined, toolCall, usageOf } from "../kit/parts.ts";
import { type Json, listOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, Unit, Walking } from "../reader.ts";

/** One message of the session. */
type Slot = {
  readonly id: string | undefined;
  /** Of the first version: a replaced one may have the time of its writing. */
  readonly time: number | undefined;
  message: Json;
  line: number;
  isActive: boolean;
};

const SILENT_TYPES: ReadonlySet<string> = new Set(["info", "warning", "error"]);

export const gemini = format({
  source: "gemini-cli",
  title: "Gemini CLI",
  evidence: "S",
  version: 2,
  roots: ({ home, env }) => [join(textOf(env.GEMINI_CLI_HOME) ?? home, ".gemini", "tmp")],
  units,
  recognises: ({ first: { sessionId, projectHash } }) =>
    textOf(sessionId) !== undefined && textOf(projectHash) !== undefined,
  read,
});

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  const logs = new Set<string>();
  const older: string[] = [];
  const isSession = (path: string): boolean =>
    /\.jsonl?$/.test(path) &&
    (path === root ||
      basename(path).startsWith("session-") ||
      basename(dirname(path)) === "chats" ||
      basename(dirname(dirname(path))) === "chats");
  for await (const path of filesBelow(root, { file: isSession }, walking))
    if (path.endsWith(".json")) older.push(path);
    else {
      logs.add(path);
      yield { path };
    }
  // A session of the older form that was resumed is written again as a log beside it.
  for (const path of older) if (!logs.has(`${path}l`)) yield { path };
}

async function* read(unit: Unit, reading: Reading): AsyncGenerator<Said> {
  const { metadata, slots } = await replayed(unit.path, reading);
  const folder = basename(dirname(unit.path));
  const stem = basename(unit.path, extname(unit.path));
  const isSubagent = metadata.kind === "subagent" || basename(dirname(dirname(unit.path))) === "chats";
  const sessionId = textOf(metadata.sessionId) ?? stem;
  yield {
    nativeId: isSubagent && sessionId === folder ? `${folder}-${stem}` : sessionId,
    title: textOf(metadata.summary),
    cwd: await projectPath(isSubagent ? dirname(dirname(unit.path)) : dirname(unit.path)),
    startedAt: timeOf(metadata.startTime),
    endedAt: timeOf(metadata.lastUpdated),
    ...(isSubagent ? { visibility: "subagent", parent: folder === "chats" ? undefined : folder } : {}),
  };
  const answered = new Set<string>();
  for (const slot of slots) yield* messagesOf(slot, answered, reading);
}

/** The metadata after all updates and the messages in their final order. Messages taken back stay, as inactive ones. */
async function replayed(path: string, reading: Reading): Promise<{ metadata: Json; slots: Slot[] }> {
  const metadata: Json = {};
  const slots: Slot[] = [];
  const byId = new Map<string, Slot>();
  const dropped = new Set<Slot>();
  /** What the record before took back, if that was a list. */
  let left: Slot[] = [];
  const add = (message: Json, line: number, isRepeated = false): void => {
    if (!isRepeated) left = [];
    const id = textOf(message.id);
    const known = id === undefined ? undefined : byId.get(id);
    if (known?.isActive) {
      if (!isRepeated) Object.assign(known, { message, line });
      return;
    }
    if (known !== undefined) dropped.add(known);
    const slot = { id, message, line, isActive: true, time: known?.time ?? timeOf(message.timestamp) };
    slots.push(slot);
    if (id !== undefined) byId.set(id, slot);
  };
  /**
   * A list takes back what is behind its last message, unless it has a summary in the place of messages. A resume writes a list of the first message, then
   * one of all: without some prompts, and with answers that have lost their model and the results of their calls.
   */
  const replaceAll = (messages: readonly unknown[], line: number): void => {
    for (const slot of left) slot.isActive = true;
    const active = slots.filter((slot) => slot.isActive);
    const ids = new Set(messages.map((message) => textOf(recordOf(message)?.id)));
    const isCompaction = messages.some((message) =>
      isClientSummary(partsOf(recordOf(message)?.content, () => {}).text),
    );
    left = isCompaction
      ? []
      : active.slice(active.findLastIndex(({ id }) => id !== undefined && ids.has(id)) + 1);
    for (const slot of left) slot.isActive = false;
    for (const message of recordsOf(messages)) add(message, line, true);
  };
  for await (const { line, value } of recordsIn(path, reading)) {
    const update = recordOf(value.$set);
    if (update !== undefined || value.sessionId !== undefined) {
      const { messages, ...fields } = update ?? value;
      Object.assign(metadata, fields);
      if (Array.isArray(messages)) replaceAll(messages, line);
    } else if (value.$rewindTo !== undefined) {
      const from = slots.findIndex((slot) => slot.isActive && slot.id === value.$rewindTo);
      for (const slot of slots.slice(Math.max(from, 0))) slot.isActive = false;
      left = [];
    } else if (value.type !== undefined) add(value, line);
    else reading.unknown(`record ${Object.keys(value).slice(0, 3).join(",")}`);
  }
  return { metadata, slots: slots.filter((slot) => !dropped.has(slot)) };
}

async function* recordsIn(path: string, reading: Reading): AsyncGenerator<{ line: number; value: Json }> {
  if (!path.endsWith(".json")) yield* jsonLines(path, reading);
  else {
    const value = recordOf(await wholeJson(path, reading));
    if (value === undefined) throw new Error("not a JSON object");
    yield { line: 1, value };
  }
}

function* messagesOf(
  { message, line, isActive, id, time }: Slot,
  answered: Set<string>,
  reading: Reading,
): Generator<Draft> {
  const type = textOf(message.type) ?? "";
  if (SILENT_TYPES.has(type)) return;
  if (type !== "user" && type !== "gemini") return reading.unknown(`message ${type || "without type"}`);
  const parts = partsOf(message.content, reading.unknown);
  const shared = { at: time, line, isActive: isActive ? undefined : false };
  if (type === "user") {
    yield* results(parts.toolResults);
    const shown = partsOf(message.displayContent, reading.unknown).text;
    const text = shown === "" ? parts.text : shown;
    if (text.trim() !== "") yield { ...shared, id, role: "user", text };
    return;
  }
  const executed = recordsOf(message.toolCalls);
  // Content with calls in it is complete. Otherwise the calls are only in `toolCalls`.
  const toolCalls =
    parts.toolCalls.length > 0
      ? parts.toolCalls
      : executed.map((call) => toolCall(call.id, call.name, call.args));
  yield {
    ...{ ...shared, id, role: "assistant", text: parts.text, toolCalls },
    reasoning: thoughtsOf(message, parts),
    model: textOf(message.model),
    usage: usageOf(message.tokens, ["input", "output", "cached", "", "thoughts"]),
  };
  for (const call of executed) {
    const { toolResults, text } = partsOf(call.result, reading.unknown);
    const callId = textOf(call.id) ?? "";
    const output = joined([...toolResults.map((result) => result.text), text]) || textOf(call.resultDisplay);
    if (output !== undefined)
      yield* results([{ callId, name: textOf(call.name), text: output }], timeOf(call.timestamp));
  }

  /** A result may stand with its call and again in the next message of the user. The first one counts. */
  function* results(found: Blocks["toolResults"], at = shared.at): Generator<Draft> {
    for (const { callId, name, text } of found) {
      if (callId !== "" && answered.has(callId)) continue;
      answered.add(callId);
      const own = id === undefined ? undefined : `${id}:${callId}`;
      yield { ...shared, at, id: own, role: "tool", text, toolCallId: callId, toolName: name };
    }
  }
}

function thoughtsOf(message: Json, parts: Blocks): string | undefined {
  const thoughts = listOf(message.thoughts).map((item) => {
    const thought = recordOf(item);
    return [textOf(thought?.subject), textOf(thought?.description)]
      .filter((text) => text !== undefined)
      .join(": ");
  });
  return textOf(joined([parts.reasoning, ...thoughts]));
}

/** The project of a `chats` folder, whose parent has a short id from projects.json or the hash of the project's path as its name. */
async function projectPath(chats: string): Promise<string | undefined> {
  const folder = dirname(chats);
  const list = await recordAt(join(dirname(dirname(folder)), "projects.json"));
  const name = basename(folder);
  for (const [path, id] of Object.entries(recordOf(list?.projects) ?? {}))
    if (id === name || createHash("sha256").update(path).digest("hex") === name) return path;
  const root = await readFile(join(folder, ".project_root"), "utf8").catch(() => ""); // optional too
  return textOf(root.trim());
}
