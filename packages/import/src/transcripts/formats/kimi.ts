// Sessions of Kimi Code: a log of events per agent. Also those of its predecessor Kimi CLI, whose format is less certain.
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { format } from "../declare.ts";
import { recordAt } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { configFolder } from "../kit/places.ts";
import {
  type Json,
  listOf,
  numberOf,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
  toolCall,
  usageOf,
} from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, SessionFacts, Unit, Walking } from "../reader.ts";
import { cliSignals, contextSignals } from "./kimi-cli.ts";
import { contentOf, contentSignals } from "./kimi-content.ts";
import { type Signal, Turns } from "./kimi-turns.ts";

/** Families of record types that hold no conversation. Others are reported, so that a changed format is noticed. */
const SILENT =
  /^(?:metadata|forked|(?:config|context|cron|file_history|full_compaction|goal|llm|mcp|micro_compaction|permission|plan|plan_mode|profile|skill|step|subagent|swarm|swarm_mode|task|todo|tool|tools|turn|usage|background)\..+)$/;
const SILENT_EVENTS: ReadonlySet<string> = new Set(["step.retry", "step.interrupted", "tool.progress"]);
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
    const value = recordOf(first);
    return (
      (basename(path) === "context.jsonl" && textOf(value?.role) !== undefined) ||
      (value?.type === "metadata" && textOf(value.protocol_version) !== undefined) ||
      (textOf(recordOf(value?.message)?.type) !== undefined &&
        recordOf(recordOf(value?.message)?.payload) !== undefined)
    );
  },
  async *read({ path }, reading) {
    const { folder, agent } = sessionFolder(path);
    const nativeId = agent === undefined ? basename(folder) : `${basename(folder)}-${agent}`;
    const isContext = basename(path) === "context.jsonl";
    const stored = await storedFacts(folder, agent);
    yield { nativeId, ...stored, hasSyntheticTimes: isContext ? true : undefined };
    const turns = new Turns();
    let isFirst = agent !== undefined;
    let isPlaceKnown = stored.cwd !== undefined;
    for await (const { line, value } of jsonLines(path, reading)) {
      const isCli = recordOf(recordOf(value.message)?.payload) !== undefined;
      const signals = isContext
        ? contextSignals(value, reading)
        : isCli
          ? cliSignals(value, reading)
          : codeSignals(value, reading, isFirst);
      const at = timeOf(value.time) ?? timeOf(value.timestamp);
      const cwd = value.type === "config.update" ? textOf(value.cwd) : undefined;
      if (cwd !== undefined && !isPlaceKnown) yield { nativeId, cwd };
      isPlaceKnown ||= cwd !== undefined;
      for (const signal of signals) {
        if (signal.kind === "user") isFirst = false;
        yield* turns.take(signal, { line, at });
      }
    }
    yield* turns.end();
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
function codeSignals(value: Json, reading: Reading, isTask: boolean): readonly Signal[] {
  const type = textOf(value.type) ?? "";
  if (type === "context.append_message")
    return messageSignals(recordOf(value.message) ?? {}, reading, isTask);
  if (type === "context.append_loop_event") return loopSignals(recordOf(value.event) ?? {}, reading);
  if (type === "turn.prompt" || type === "turn.steer") {
    const { text } = contentOf(value.input, reading.unknown);
    return isTyped(value.origin, isTask) && text !== ""
      ? [{ kind: "prompt", text, isSteer: type === "turn.steer" }]
      : [];
  }
  if (type === "context.undo") return [{ kind: "undo", turns: numberOf(value.count) ?? 1 }];
  const model = type === "config.update" ? textOf(value.modelAlias) : undefined;
  if (model !== undefined) return [{ kind: "model", model }];
  if (!SILENT.test(type)) reading.unknown(`record ${type || "without type"}`);
  return [];
}

function isTyped(origin: unknown, isTask: boolean): boolean {
  const from = textOf(origin) ?? textOf(recordOf(origin)?.kind);
  return from === undefined || from === "user" || (isTask && !INJECTED.has(from));
}

function messageSignals(message: Json, reading: Reading, isTask: boolean): readonly Signal[] {
  const content = contentOf(message.content, reading.unknown);
  const id = textOf(message.id);
  if (message.role === "user")
    return isTyped(message.origin, isTask) ? [{ kind: "user", text: content.text, id }] : [];
  if (message.role === "tool")
    return [{ kind: "result", callId: textOf(message.toolCallId) ?? "", text: content.text, id }];
  if (message.role === "assistant") {
    const calls = recordsOf(message.toolCalls).map((call): Signal => {
      const made = recordOf(call.function);
      const given = call.arguments ?? call.args ?? made?.arguments;
      return { kind: "call", call: toolCall(call.id, textOf(call.name) ?? made?.name, given) };
    });
    return [{ kind: "begin", id }, ...contentSignals(content), ...calls, { kind: "end" }];
  }
  if (message.role !== "system") reading.unknown(`role ${textOf(message.role) ?? "missing"}`);
  return [];
}

function loopSignals(event: Json, reading: Reading): readonly Signal[] {
  const type = textOf(event.type) ?? "";
  switch (type) {
    case "step.begin":
      return [{ kind: "begin", id: textOf(event.uuid) }];
    case "content.part":
      return contentSignals(contentOf([event.part], reading.unknown));
    case "tool.call":
      return [{ kind: "call", call: toolCall(event.toolCallId, event.name, event.args) }];
    case "tool.result": {
      const result = recordOf(event.result);
      const output = contentOf(result?.output ?? event.result, reading.unknown).text;
      const text = output === "" ? (textOf(result?.message) ?? "") : output;
      return [{ kind: "result", callId: textOf(event.toolCallId) ?? "", text }];
    }
    case "step.end": {
      const model = textOf(event.model);
      const reason = textOf(event.finishReason);
      return [
        ...(model === undefined ? [] : [{ kind: "model", model } as const]),
        ...(reason === undefined ? [] : [{ kind: "finish", reason } as const]),
        { kind: "usage", usage: usageOf(event.usage, COUNTS) },
        { kind: "end" },
      ];
    }
    default:
      if (!SILENT_EVENTS.has(type)) reading.unknown(`event ${type || "without type"}`);
      return [];
  }
}

const COUNTS = {
  inputTokens: "inputOther",
  outputTokens: "output",
  cacheReadTokens: "inputCacheRead",
  cacheWriteTokens: "inputCacheCreation",
} as const;
