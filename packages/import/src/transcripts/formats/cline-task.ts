// Task folders of Cline and the extensions made from it (Roo Code, Kilo Code): `tasks/<id>/` with Anthropic messages and the view's messages.
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Draft, names, type Said } from "../declare.ts";
import { isInBetterStore } from "../kit/better-store.ts";
import { type Blocks, blocksOf } from "../kit/blocks.ts";
import { lastRead, recordAt, wholeJson } from "../kit/json-array.ts";
import { joined } from "../kit/parts.ts";
import {
  type Json,
  jsonOf,
  listOf,
  numbered,
  numberOf,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
} from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, Sample, Unit, Usage, Walking } from "../reader.ts";

const CONVERSATION = "api_conversation_history.json";
const VIEW = "ui_messages.json";
const METADATA = "history_item.json";

/** The units below a folder of an extension, its `tasks` folder, or one task; also for a file inside a task. */
export async function* taskUnits(root: string, walking: Walking, order?: number): AsyncGenerator<Unit> {
  const wanted = {
    file: (path: string) => basename(path) === CONVERSATION || basename(path) === VIEW,
    folder: (path: string) => !SKIPPED_FOLDERS.has(basename(path)),
    maxDepth: 4,
  };
  let last: string | undefined;
  for await (const file of filesBelow(root, wanted, walking)) {
    const path = dirname(file);
    if (path === last) continue; // both files of one task follow each other
    last = path;
    const stamps = [CONVERSATION, VIEW, METADATA].map((name) => join(path, name));
    yield { path, stamps, ...(order === undefined ? {} : { order }) };
  }
}
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(["checkpoints", "cache", "settings"]);

/** Whether the file is one of a task folder whose path names this extension. Without a name in the path it is taken for Cline's. */
export function isTaskFile({ path }: Sample, extension: string): boolean {
  const name = basename(path);
  if (name !== CONVERSATION && name !== VIEW) return false;
  const owner = EXTENSIONS.find((one) => path.toLowerCase().includes(one)) ?? CLINE;
  return owner === extension;
}
export const CLINE = "saoudrizwan.claude-dev";
export const ROO = "rooveterinaryinc.roo-cline";
export const KILO = "kilocode.kilo-code";
const EXTENSIONS = [CLINE, ROO, KILO];

export async function* readTask(unit: Unit, reading: Reading): AsyncGenerator<Said> {
  const nativeId = basename(unit.path);
  const conversation = await jsonIfThere(join(unit.path, CONVERSATION), reading);
  // Newer versions of Cline move a task to their other store under the same id.
  if (!hasIds(conversation) && (await isInBetterStore(nativeId, reading))) return;
  const item = await historyItem(unit.path, nativeId);
  const view = recordsOf(await jsonIfThere(join(unit.path, VIEW), reading));
  const messages =
    conversation === undefined
      ? [...viewMessages(view, join(unit.path, VIEW))]
      : [...conversationMessages(conversation, view, join(unit.path, CONVERSATION), reading)];
  yield {
    nativeId,
    title: textOf(item?.task),
    cwd: textOf(item?.cwdOnTaskInitialization) ?? textOf(item?.workspace) ?? cwdInText(listOf(conversation)),
    model: textOf(item?.modelId),
    startedAt: timeOfId(nativeId) ?? timeOf(view[0]?.ts) ?? timeOf(item?.ts),
    usage: usageOf(view, item),
    parent: textOf(item?.parentTaskId),
    hasSyntheticTimes: messages.some(({ at }) => at !== undefined) ? undefined : true,
  };
  yield* messages;
}

function hasIds(conversation: unknown): boolean {
  return listOf(conversation).some((message) => textOf(recordOf(message)?.id) !== undefined);
}

async function jsonIfThere(path: string, reading: Reading): Promise<unknown> {
  const isThere = (await stat(path).catch(() => undefined)) !== undefined;
  return isThere ? wholeJson(path, reading) : undefined;
}

/** What the extension's list of tasks says about this one. */
async function historyItem(folder: string, id: string): Promise<Json | undefined> {
  const own = await recordAt(join(folder, METADATA));
  if (own !== undefined) return own;
  const tasks = dirname(folder);
  const lists = [
    join(dirname(tasks), "state", "taskHistory.json"),
    join(tasks, "taskHistory.json"),
    join(tasks, "_index.json"),
  ];
  for (const path of lists) {
    const found = (await historyAt(path)).get(id);
    if (found !== undefined) return found;
  }
  return undefined;
}

const lastHistory = lastRead<ReadonlyMap<string, Json>>();

/** The list has a line for each of up to thousands of tasks. */
function historyAt(path: string): Promise<ReadonlyMap<string, Json>> {
  return lastHistory([path], async () => {
    const value = jsonOf(await readFile(path, "utf8").catch(() => undefined));
    const list = recordsOf(Array.isArray(value) ? value : recordOf(value)?.entries);
    return new Map(list.map((item) => [String(item.id), item]));
  });
}

/** Older ids are the time in milliseconds; newer ones are UUIDs of version 7, which begin with it. */
function timeOfId(id: string): number | undefined {
  if (/^\d{13}$/.test(id)) return timeOf(id);
  const version7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i.exec(id);
  return version7 === null ? undefined : timeOf(Number.parseInt(`${version7[1]}${version7[2]}`, 16));
}

/** Every turn names the folder in a block of its own, which is not kept. */
function cwdInText(conversation: readonly unknown[]): string | undefined {
  for (const message of conversation) {
    for (const block of listOf(recordOf(message)?.content)) {
      const named = CWD.exec(textOf(recordOf(block)?.text) ?? "")?.[1];
      if (named !== undefined) return named;
    }
  }
  return undefined;
}
const CWD = /^# Current (?:Workspace|Working) Directory \((.+)\)(?: Files)?$/m;

function usageOf(view: readonly Json[], item: Json | undefined): Usage | undefined {
  const requests = recordsOf(
    view.filter(({ say }) => say === "api_req_started").map(({ text }) => jsonOf(textOf(text))),
  );
  const from = requests.length > 0 ? requests : item === undefined ? [] : [item];
  if (from.length === 0) return undefined;
  const sum = (key: string): number => from.reduce((total, one) => total + (numberOf(one[key]) ?? 0), 0);
  return {
    inputTokens: sum("tokensIn"),
    outputTokens: sum("tokensOut"),
    cacheReadTokens: sum("cacheReads"),
    cacheWriteTokens: sum("cacheWrites"),
  };
}

function* conversationMessages(
  conversation: unknown,
  view: readonly Json[],
  path: string,
  reading: Reading,
): Generator<Draft> {
  const times = timesByIndex(view);
  const toolNames = new Map<string, string>();
  for (const { line, value: message } of numbered(conversation, reading)) {
    // The product's own recaps of messages that are still in the list, and reasoning that only the model's vendor can read.
    if (message.isSummary === true || message.isTruncationMarker === true || message.type === "reasoning")
      continue;
    const source = { path, line, at: timeOf(message.ts) ?? times.get(line - 1), id: textOf(message.id) };
    const blocks = blocksOf(message.content, reading.unknown);
    for (const { id, name } of blocks.toolCalls) toolNames.set(id, name);
    if (message.role === "user") yield* userMessages(blocks, source, toolNames);
    else {
      const model = recordOf(message.modelInfo);
      const { text, toolCalls } = blocks;
      const reasoning = joined([textOf(message.reasoning_content), blocks.reasoning]);
      const shared = { ...source, role: message.role, model: textOf(model?.modelId) ?? textOf(model?.id) };
      yield { ...shared, text, toolCalls, reasoning };
    }
  }
}

function timesByIndex(view: readonly Json[]): ReadonlyMap<number, number> {
  const times = new Map<number, number>();
  for (const entry of view) {
    const index = numberOf(entry.conversationHistoryIndex);
    const at = timeOf(entry.ts);
    if (index !== undefined && at !== undefined && !times.has(index)) times.set(index, at);
  }
  return times;
}

type Source = Pick<Draft, "path" | "line" | "at" | "id">;

/** Results of tools become rows of their own. What the user answered stands inside them, in tags. */
function* userMessages(
  blocks: Blocks,
  source: Source,
  toolNames: ReadonlyMap<string, string>,
): Generator<Draft> {
  const said: string[] = [];
  for (const { callId, text } of blocks.toolResults) {
    const toolName = toolNames.get(callId);
    const { rest, answers } = withoutAnswers(withoutEnvironment(text), QUESTIONS.has(toolName ?? ""));
    said.push(...answers);
    const id = source.id === undefined ? undefined : `${source.id}:${callId}`;
    yield { ...source, id, role: "tool", text: rest, toolCallId: callId };
  }
  const text = withoutEnvironment(blocks.text);
  const result = TEXT_RESULT.exec(text);
  const isMachineText = MACHINE_TEXT.test(text);
  if (result !== null || isMachineText) {
    const { rest, answers } = withoutAnswers(text, isMachineText || QUESTIONS.has(result?.[1] ?? ""));
    said.push(...answers);
    const id = source.id === undefined ? undefined : `${source.id}:result`;
    if (result !== null) yield { ...source, id, role: "tool", text: rest, toolName: result[1] };
  } else said.push(text.replace(TASK, "$1"));
  const all = joined(said);
  if (all !== "") yield { ...source, role: "user", text: all };
}

/** Older versions wrote tool calls as XML into the answer and their results as text of the next user message. */
const TEXT_RESULT = /^\[([a-z_]+)(?: for '[\s\S]*?')?\] Result:/;
/** Sent by the extension when the model used no tool, or when a task is opened again. */
const MACHINE_TEXT = /^\[(?:ERROR|TASK RESUMPTION)\]/;
/** The task itself; notes for the model and images may follow it. */
const TASK = /^<task>\s*([\s\S]*?)\s*<\/task>/;
const ENVIRONMENT = /<environment_details>[\s\S]*?(?:<\/environment_details>|$)/g;
/** Tools whose result is what the user wrote. */
const QUESTIONS = names("ask_followup_question attempt_completion plan_mode_respond");
const ANSWER = /<(feedback|answer|user_message)>([\s\S]*?)<\/\1>/g;
/** Any tool's result can hold what the user wrote when asked to allow it. A file that was read may hold the tag without this sentence. */
const FEEDBACK = /(?<=\bThe user\b[^<]{0,300})<(feedback)>([\s\S]*?)<\/\1>/g;

function withoutEnvironment(text: string): string {
  return text.replace(ENVIRONMENT, "").trim();
}

function withoutAnswers(
  text: string,
  isAnswer: boolean,
): { readonly rest: string; readonly answers: readonly string[] } {
  const tags = isAnswer ? ANSWER : FEEDBACK;
  const answers = [...text.matchAll(tags)].map(([, , answer = ""]) => answer.trim());
  return { rest: answers.length === 0 ? text : text.replace(tags, "").trim(), answers };
}

/** Tasks that lost their conversation still have the texts of the view. The first one is the task itself. */
function* viewMessages(view: readonly Json[], path: string): Generator<Draft> {
  let isFirst = true;
  for (const [index, entry] of view.entries()) {
    const say = textOf(entry.say);
    if (entry.type !== "say" || entry.partial === true || say === undefined || !SPOKEN.has(say)) continue;
    const images = listOf(entry.images).map(() => "[image]");
    const text = joined([textOf(entry.text), ...images]);
    const role = isFirst || say === "user_feedback" ? "user" : "assistant";
    isFirst = false;
    if (text !== "") yield { role, text, at: timeOf(entry.ts), line: index + 1, path };
  }
}
const SPOKEN: ReadonlySet<string> = new Set(["task", "text", "user_feedback", "completion_result"]);
