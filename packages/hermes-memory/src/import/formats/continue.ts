// Continue: one JSON file per session, written by the IDE extension and the command line agent, and an index with the start times.
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { attachment } from "../kit/blocks.ts";
import { wholeJson } from "../kit/json-array.ts";
import {
  type Json,
  joined,
  jsonOf,
  jsonText,
  listOf,
  numberOf,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
} from "../kit/values.ts";
import { pathOfUri } from "../kit/vscode-user.ts";
import { filesBelow } from "../kit/walk.ts";
import type {
  Reading,
  ToolCall,
  TranscriptEvent,
  TranscriptMessage,
  TranscriptReader,
  Unit,
  Usage,
  Walking,
} from "../reader.ts";

const INDEX = "sessions.json";

export const continueDev: TranscriptReader = {
  source: "continue",
  title: "Continue",
  evidence: "S",
  version: 2,
  roots: ({ home, env }) => [join(textOf(env.CONTINUE_GLOBAL_DIR) ?? join(home, ".continue"), "sessions")],
  units,
  recognises: ({ first }) => {
    const session = recordOf(first);
    return (
      textOf(session?.sessionId) !== undefined &&
      Array.isArray(session?.history) &&
      session.workspaceDirectory !== undefined
    );
  },
  read,
};

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  // The name keeps out the index, and the settings when the user names the whole folder of Continue.
  const wanted = { file: (path: string) => path === root || SESSION_FILE.test(basename(path)), maxDepth: 2 };
  for await (const path of filesBelow(root, wanted, walking)) yield { path };
}
const SESSION_FILE = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json$/i;

const PLACEHOLDERS: ReadonlySet<string> = new Set(["New Session", "Untitled Session"]);

async function* read(unit: Unit, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const session = recordOf(await wholeJson(unit.path, reading));
  if (session === undefined || !Array.isArray(session.history)) {
    reading.unknown("file without history");
    return;
  }
  const nativeId = textOf(session.sessionId) ?? basename(unit.path, ".json");
  const { mtimeMs } = await stat(unit.path);
  yield {
    kind: "session",
    facts: {
      nativeId,
      title: PLACEHOLDERS.has(String(session.title)) ? undefined : textOf(session.title),
      cwd: pathOfUri(session.workspaceDirectory),
      model: textOf(session.chatModelTitle),
      startedAt: (await startOf(unit.path, nativeId)) ?? timeOf(mtimeMs),
      endedAt: timeOf(mtimeMs),
      hasSyntheticTimes: true,
      usage: usageOf(session.usage),
    },
  };
  // Where the session has totals, the numbers of its messages are already in them.
  for (const message of messagesOf(session.history, reading))
    yield {
      kind: "message",
      message: session.usage === undefined ? message : { ...message, usage: undefined },
    };
}

/** The index is small: a line of a few words for each session. Entries with `session_id` are of an older format. */
async function startOf(path: string, id: string): Promise<number | undefined> {
  const text = await readFile(join(dirname(path), INDEX), "utf8").catch(() => undefined);
  return timeOf(recordsOf(jsonOf(text)).find(({ sessionId }) => sessionId === id)?.dateCreated);
}

function usageOf(value: unknown): Usage | undefined {
  const usage = recordOf(value);
  if (usage === undefined) return undefined;
  const cached = recordOf(usage.promptTokensDetails);
  return {
    inputTokens: numberOf(usage.promptTokens),
    outputTokens: numberOf(usage.completionTokens),
    cacheReadTokens: numberOf(cached?.cachedTokens),
    cacheWriteTokens: numberOf(cached?.cacheWriteTokens),
  };
}

function* messagesOf(history: readonly unknown[], reading: Reading): Generator<TranscriptMessage> {
  const answered = new Set(
    recordsOf(history).flatMap(({ message }) => textOf(recordOf(message)?.toolCallId) ?? []),
  );
  const toolNames = new Map<string, string>();
  let thoughts: string[] = [];
  for (const [index, value] of history.entries()) {
    const item = recordOf(value);
    const message = recordOf(item?.message);
    if (item === undefined || message === undefined) {
      reading.malformed(index + 1, "an item without a message");
      continue;
    }
    const line = index + 1;
    const text = textOfContent(message.content, reading);
    switch (message.role) {
      case "user":
        yield { role: "user", text: joined([text, ...contextNames(item)]), line };
        break;
      case "thinking":
        thoughts.push(text); // belongs to the answer that follows
        break;
      case "assistant": {
        const toolCalls = recordsOf(message.toolCalls).map(toolCallOf);
        for (const { id, name } of toolCalls) toolNames.set(id, name);
        yield {
          role: "assistant",
          text,
          line,
          toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
          reasoning: reading.options.includeReasoning
            ? textOf(joined([...thoughts, textOf(recordOf(item.reasoning)?.text)]))
            : undefined,
          usage: usageOf(message.usage),
        };
        thoughts = [];
        yield* stateResults(item, { line, answered, toolNames });
        break;
      }
      case "tool": {
        const toolCallId = textOf(message.toolCallId);
        yield { role: "tool", text, line, toolCallId, toolName: toolNames.get(toolCallId ?? "") };
        break;
      }
      case "system":
        if (reading.options.includeSystem) yield { role: "system", text, line };
        break;
      default:
        reading.unknown(`role ${String(message.role)}`);
    }
  }
}

function textOfContent(content: unknown, reading: Reading): string {
  if (typeof content === "string") return content;
  return joined(
    recordsOf(content).map((part) => {
      const type = textOf(part.type) ?? "";
      if (type === "text") return textOf(part.text);
      if (type === "imageUrl") return "[image]";
      const shown = attachment(type, part);
      if (shown === undefined) reading.unknown(`part ${type || "without type"}`);
      return shown;
    }),
  );
}

/** Attached files keep their names; their text is in the session only because it was sent to the model. */
function contextNames(item: Json): string[] {
  return recordsOf(item.contextItems).flatMap(({ name }) => {
    const text = textOf(name);
    return text === undefined ? [] : [`[file: ${text}]`];
  });
}

function toolCallOf(call: Json): ToolCall {
  const called = recordOf(call.function);
  return {
    id: textOf(call.id) ?? "",
    name: textOf(called?.name) ?? "unknown",
    arguments: jsonText(called?.arguments),
  };
}

type Results = {
  readonly line: number;
  /** Calls whose result is a message of its own. */
  readonly answered: ReadonlySet<string>;
  readonly toolNames: ReadonlyMap<string, string>;
};

function* stateResults(item: Json, { line, answered, toolNames }: Results): Generator<TranscriptMessage> {
  for (const state of recordsOf(item.toolCallStates)) {
    const toolCallId = textOf(state.toolCallId);
    const isOver = state.status === "done" || state.status === "errored";
    if (!isOver || toolCallId === undefined || answered.has(toolCallId)) continue;
    const text = joined(listOf(state.output).map((part) => textOf(recordOf(part)?.content)));
    yield { role: "tool", text, line, toolCallId, toolName: toolNames.get(toolCallId) };
  }
}
