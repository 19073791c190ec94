// Sessions of Kimi Code: a log of events per agent. Also those of its predecessor Kimi CLI, whose format is less certain: wire.jsonl with
// events and times, context.jsonl with the messages as the model sees them.
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { type Draft, format, type Said } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { recordAt } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { functionCall, joined, toolCall, usageOf } from "../kit/parts.ts";
import { configFolder } from "../kit/places.ts";
import { type Json, listOf, names, numberOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, SessionFacts, ToolCall, Unit, Usage, Walking } from "../reader.ts";

/** Families of record types that hold no conversation. Others are reported, so that a changed format is noticed. */
const SILENT =
  /^(?:metadata|forked|(?:config|context|cron|file_history|full_compaction|goal|llm|mcp|micro_compaction|permission|plan|plan_mode|profile|skill|step|subagent|swarm|swarm_mode|task|todo|tool|tools|turn|usage|background)\..+)$/;
const SILENT_EVENTS: ReadonlySet<string> = new Set(["step.retry", "step.interrupted", "tool.progress"]);
/** Of Kimi CLI. A subagent has a log of its own, which repeats `SubagentEvent`. */
const SILENT_CLI_EVENTS = names(`
  ApprovalRequest ApprovalRequestResolved ApprovalResponse CompactionEnd HookResolved HookTriggered
  MCPLoadingBegin MCPLoadingEnd Notification PlanDisplay QuestionRequest SubagentEvent ToolCallPart
  ToolCallRequest
`);
/** Origins of text that the program injected. The task of a subagent has another one. */
const INJECTED: ReadonlySet<string> = new Set(["injection", "compaction_summary", "hook_result"]);

export const kimi = format({
  source: "kimi",
  title: "Kimi Code",
  evidence: "S",
  roots: (place) => [
    join(textOf(place.env.KIMI_CODE_HOME) ?? join(place.home, ".kimi-code"), "sessions"),
    join(configFolder(place), "kimi-desktop/daimon-share/daimon/runtime/kimi-code/home/sessions"),
    ...(place.withoutExperimental === true
      ? []
      : [join(textOf(place.env.KIMI_SHARE_DIR) ?? join(place.home, ".kimi"), "sessions")]),
  ],
  units,
  recognises: ({ path, first }) => {
    const { type, payload } = recordOf(first.message) ?? {};
    return (
      (basename(path) === "context.jsonl" && textOf(first.role) !== undefined) ||
      (first.type === "metadata" && textOf(first.protocol_version) !== undefined) ||
      (textOf(type) !== undefined && recordOf(payload) !== undefined)
    );
  },
  async *read({ path }, reading) {
    const { folder, agent } = sessionFolder(path);
    const nativeId = agent === undefined ? basename(folder) : `${basename(folder)}-${agent}`;
    const isContext = basename(path) === "context.jsonl";
    const stored = await storedFacts(folder, agent);
    yield { nativeId, ...stored, hasSyntheticTimes: isContext ? true : undefined };
    const turns = new Turns();
    let isPlaceKnown = stored.cwd !== undefined;
    for await (const { line, value } of jsonLines(path, reading)) {
      turns.where = { line, at: timeOf(value.time) ?? timeOf(value.timestamp) };
      const cwd = value.type === "config.update" ? textOf(value.cwd) : undefined;
      if (cwd !== undefined && !isPlaceKnown) yield { nativeId, cwd };
      isPlaceKnown ||= cwd !== undefined;
      const isCli = recordOf(recordOf(value.message)?.payload) !== undefined;
      if (isContext) contextMessage(value, turns, reading);
      else if (isCli) cliEvent(value, turns, reading);
      else codeRecord(value, turns, reading, agent !== undefined && !turns.hasUser);
      yield* turns.said.splice(0);
    }
    turns.finish();
    yield* turns.said;
  },
});

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  const file = (path: string): boolean =>
    path === root || basename(path) === "wire.jsonl" || basename(path) === "context.jsonl";
  const wires = new Set<string>();
  const contexts: string[] = [];
  for await (const path of filesBelow(root, { file }, walking)) {
    if (basename(path) === "context.jsonl") contexts.push(path);
    else {
      wires.add(path);
      yield { path, stamps: [path, join(sessionFolder(path).folder, "state.json")] };
    }
  }
  // Kimi CLI writes both. The other file has times and keeps what a compaction removes from this one.
  for (const path of contexts) if (!wires.has(join(dirname(path), "wire.jsonl"))) yield { path };
}

/** `<session>/agents/<agent>/wire.jsonl`, `<session>/subagents/<agent>/wire.jsonl` of Kimi CLI, or `<session>/wire.jsonl`. */
function sessionFolder(path: string): { folder: string; agent: string | undefined } {
  const folder = dirname(path);
  const above = basename(dirname(folder));
  if (above !== "agents" && above !== "subagents") return { folder, agent: undefined };
  const agent = basename(folder);
  return {
    folder: dirname(dirname(folder)),
    agent: above === "agents" && agent === "main" ? undefined : agent,
  };
}

/** From state.json, and for Kimi CLI the working directory from kimi.json, which lists the paths whose hash names the folder. */
async function storedFacts(
  folder: string,
  agent: string | undefined,
): Promise<Omit<SessionFacts, "nativeId">> {
  const state = await recordAt(join(folder, "state.json"));
  const settings = await recordAt(join(dirname(dirname(dirname(folder))), "kimi.json"));
  const hash = basename(dirname(folder));
  const cwd =
    textOf(state?.workDir) ??
    listOf(settings?.work_dirs)
      .map((item) => textOf(item) ?? textOf(recordOf(item)?.path))
      .find((path) => path !== undefined && createHash("md5").update(path).digest("hex") === hash);
  const forkedFrom = textOf(state?.forkedFrom) ?? textOf(recordOf(state?.forkedFrom)?.sessionId);
  const parentAgent = textOf(recordOf(recordOf(state?.agents)?.[agent ?? ""])?.parentAgentId);
  const session = basename(folder);
  return {
    cwd,
    ...(agent === undefined
      ? {
          title: textOf(state?.title) ?? textOf(state?.custom_title),
          startedAt: timeOf(state?.createdAt),
          endedAt: timeOf(state?.updatedAt),
          ...(forkedFrom === undefined ? {} : { continues: { how: "fork", session: forkedFrom } }),
        }
      : {
          visibility: "subagent",
          parent: parentAgent === undefined || parentAgent === "main" ? session : `${session}-${parentAgent}`,
        }),
  };
}

/** `isTask`: the next message of a user role is the task of a subagent, whoever it is from. */
function codeRecord(value: Json, turns: Turns, reading: Reading, isTask: boolean): void {
  const type = textOf(value.type) ?? "";
  const model = type === "config.update" ? textOf(value.modelAlias) : undefined;
  if (type === "context.append_message") codeMessage(recordOf(value.message) ?? {}, turns, reading, isTask);
  else if (type === "context.append_loop_event") codeEvent(recordOf(value.event) ?? {}, turns, reading);
  else if (type === "turn.prompt" || type === "turn.steer") {
    const { text } = contentOf(value.input, reading);
    if (isTyped(value.origin, isTask) && text !== "") turns.prompt(text, type === "turn.steer");
  } else if (type === "context.undo") turns.undo(numberOf(value.count) ?? 1);
  else if (model !== undefined) turns.model = model;
  else if (!SILENT.test(type)) reading.unknown(`record ${type || "without type"}`);
}

function isTyped(origin: unknown, isTask: boolean): boolean {
  const from = textOf(origin) ?? textOf(recordOf(origin)?.kind);
  return from === undefined || from === "user" || (isTask && !INJECTED.has(from));
}

function codeMessage(message: Json, turns: Turns, reading: Reading, isTask: boolean): void {
  const content = contentOf(message.content, reading);
  const id = textOf(message.id);
  if (message.role === "user") {
    if (isTyped(message.origin, isTask)) turns.user(content.text, id);
  } else if (message.role === "tool") turns.result(message.toolCallId, content.text, id);
  else if (message.role === "assistant") {
    turns.begin(id);
    turns.add(content);
    for (const call of recordsOf(message.toolCalls)) {
      const made = recordOf(call.function);
      const given = call.arguments ?? call.args ?? made?.arguments;
      turns.call(toolCall(call.id, textOf(call.name) ?? made?.name, given));
    }
    turns.end();
  } else if (message.role !== "system") reading.unknown(`role ${textOf(message.role) ?? "missing"}`);
}

function codeEvent(event: Json, turns: Turns, reading: Reading): void {
  const type = textOf(event.type) ?? "";
  if (type === "step.begin") turns.begin(textOf(event.uuid));
  else if (type === "content.part") turns.add(contentOf([event.part], reading));
  else if (type === "tool.call") turns.call(toolCall(event.toolCallId, event.name, event.args));
  else if (type === "tool.result") {
    const result = recordOf(event.result);
    const output = contentOf(result?.output ?? event.result, reading).text;
    turns.result(event.toolCallId, output === "" ? (textOf(result?.message) ?? "") : output);
  } else if (type === "step.end") {
    turns.model = textOf(event.model) ?? turns.model;
    const usage = usageOf(event.usage, ["inputOther", "output", "inputCacheRead", "inputCacheCreation"]);
    turns.note({ usage, finishReason: textOf(event.finishReason) });
    turns.end();
  } else if (!SILENT_EVENTS.has(type)) reading.unknown(`event ${type || "without type"}`);
}

function cliEvent(value: Json, turns: Turns, reading: Reading): void {
  const message = recordOf(value.message);
  const payload = recordOf(message?.payload) ?? {};
  const type = textOf(message?.type) ?? "";
  if (type === "TurnBegin" || type === "SteerInput") turns.user(contentOf(payload.user_input, reading).text);
  else if (type === "StepBegin") turns.begin();
  else if (type === "TurnEnd" || type === "StepInterrupted" || type === "CompactionBegin") turns.end();
  else if (type === "ContentPart") turns.add(contentOf([payload], reading));
  else if (type === "ToolCall") turns.call(functionCall(payload));
  else if (type === "ToolResult") {
    const returned = recordOf(payload.return_value) ?? recordOf(payload.result);
    const output = contentOf(returned?.output, reading).text;
    turns.result(payload.tool_call_id, output === "" ? (textOf(returned?.message) ?? "") : output);
  } else if (type === "StatusUpdate") {
    const usage = usageOf(payload.token_usage, [
      "input_other",
      "output",
      "input_cache_read",
      "input_cache_creation",
    ]);
    turns.note({ usage });
  } else if (!SILENT_CLI_EVENTS.has(type)) reading.unknown(`event ${type || "without type"}`);
}

/** A message of context.jsonl. Roles that begin with an underscore are control records. */
function contextMessage(value: Json, turns: Turns, reading: Reading): void {
  const role = textOf(value.role) ?? "";
  const content = contentOf(value.content, reading);
  if (role === "user") turns.user(content.text);
  else if (role === "tool") turns.result(value.tool_call_id, content.text);
  else if (role === "assistant") {
    turns.begin();
    turns.add(content);
    for (const call of recordsOf(value.tool_calls)) turns.call(functionCall(call));
    turns.end();
  } else if (!role.startsWith("_") && role !== "system") reading.unknown(`role ${role || "missing"}`);
}

type Content = { readonly text: string; readonly reasoning?: string | undefined };

function contentOf(content: unknown, reading: Reading): Content {
  const unknownPart = (type: string): void => reading.unknown(type.replace("block", "part"));
  return blocksOf(content, unknownPart, (part) => {
    if (part.type === "think") return { type: "thinking", thinking: part.think, text: part.text };
    // Media are kept in files beside the log and never read.
    const medium = /^(audio|video)_url$/.exec(String(part.type))?.[1];
    return medium === undefined ? part : { type: "text", text: `[${medium}]` };
  });
}

type Where = { readonly line: number; readonly at: number | undefined };
type Noted = { readonly usage?: Usage | undefined; readonly finishReason?: string | undefined };
type Step = Where & {
  readonly id: string | undefined;
  readonly texts: string[];
  readonly thoughts: string[];
  readonly calls: ToolCall[];
  readonly results: Draft[];
  noted: Noted;
};
/** `isSteer`: typed while the agent was working. */
type Prompt = Where & { readonly text: string; readonly isSteer: boolean };

/** Messages from small events: the parts and calls of one step are one message. */
class Turns {
  /** What the caller has to yield next. */
  readonly said: Said[] = [];
  /** Of the record that is being read. */
  where: Where = { line: 0, at: undefined };
  model: string | undefined;
  hasUser = false;
  /** Ids of the messages of each turn of the user, for undo. */
  readonly #turns: string[][] = [];
  #prompts: Prompt[] = [];
  #step: Step | undefined;

  user(text: string, id?: string): void {
    this.hasUser = true;
    this.end();
    const repeated = this.#prompts.findIndex((prompt) => prompt.text === text);
    this.#prompts.splice(Math.max(repeated, 0), 1);
    this.#user(text, this.where, id);
  }

  /** The text of a prompt, which a message usually repeats. */
  prompt(text: string, isSteer: boolean): void {
    if (!isSteer) {
      this.end();
      this.#unrepeated(() => true);
    }
    this.#prompts.push({ ...this.where, text, isSteer });
  }

  begin(id?: string): void {
    this.end();
    this.#open(id);
  }

  add({ text, reasoning }: Content): void {
    if (text !== "") this.#open().texts.push(text);
    if (reasoning !== undefined) this.#open().thoughts.push(reasoning);
  }

  call(call: ToolCall): void {
    this.#open().calls.push(call);
  }

  note(noted: Noted): void {
    if (this.#step !== undefined) this.#step.noted = { ...this.#step.noted, ...noted };
  }

  result(callId: unknown, text: string, id = `l${this.where.line}`): void {
    const message: Draft = { id, role: "tool", text, ...this.where, toolCallId: textOf(callId) ?? "" };
    if (this.#step !== undefined) this.#step.results.push(message);
    else this.#give(message);
  }

  undo(turns: number): void {
    this.end();
    const ids = turns > 0 ? this.#turns.splice(-turns).flat() : [];
    if (ids.length > 0) this.said.push({ kind: "inactive", ids });
  }

  /** The end of a step. */
  end(): void {
    const step = this.#step;
    this.#step = undefined;
    if (step === undefined) return;
    const { id, line, at, texts, thoughts, calls, noted } = step;
    this.#give({
      ...{ id: id ?? `l${line}`, role: "assistant", text: joined(texts), at, line, toolCalls: calls },
      ...{ reasoning: joined(thoughts), model: this.model, ...noted },
    });
    for (const message of step.results) this.#give(message);
  }

  /** The end of the file. */
  finish(): void {
    this.#unrepeated(({ isSteer }) => !isSteer);
    this.end();
    this.#unrepeated(() => true);
  }

  #open(id?: string): Step {
    this.#unrepeated(({ isSteer }) => !isSteer);
    this.#step ??= { ...this.where, id, texts: [], thoughts: [], calls: [], results: [], noted: {} };
    return this.#step;
  }

  #user(text: string, { line, at }: Where, id = `l${line}`): void {
    if (text.trim() === "") return;
    this.#turns.push([id]);
    this.said.push({ id, role: "user", text, at, line });
  }

  /** Prompts that no message repeated. */
  #unrepeated(isMeant: (prompt: Prompt) => boolean): void {
    const meant = this.#prompts.filter(isMeant);
    this.#prompts = this.#prompts.filter((prompt) => !isMeant(prompt));
    for (const prompt of meant) this.#user(prompt.text, prompt);
  }

  #give(message: Draft): void {
    if (message.id !== undefined) this.#turns.at(-1)?.push(message.id);
    this.said.push(message);
  }
}
