// Continue: one JSON file per session, written by the IDE extension and the command line agent, and an index with the start times.
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Draft, format } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { wholeJson } from "../kit/json-array.ts";
import { functionCall, joined, usageOf } from "../kit/parts.ts";
import { type Json, jsonOf, listOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { pathOfUri } from "../kit/vscode-user.ts";
import { unitsOf } from "../kit/walk.ts";
import type { Reading, Usage } from "../reader.ts";

const INDEX = "sessions.json";

const SESSION_FILE = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json$/i;
const PLACEHOLDERS: ReadonlySet<string> = new Set(["New Session", "Untitled Session"]);

export const continueDev = format({
  source: "continue",
  title: "Continue",
  evidence: "S",
  version: 2,
  keepsEmpty: true,
  roots: ({ home, env }) => [join(textOf(env.CONTINUE_GLOBAL_DIR) ?? join(home, ".continue"), "sessions")],
  // The name keeps out the index, and the settings when the user names the whole folder of Continue.
  units: unitsOf((path) => SESSION_FILE.test(basename(path)), { maxDepth: 2 }),
  recognises: ({ first: { sessionId, history, workspaceDirectory } }) =>
    textOf(sessionId) !== undefined && Array.isArray(history) && workspaceDirectory !== undefined,
  async *read({ path }, reading) {
    const session = recordOf(await wholeJson(path, reading));
    if (!Array.isArray(session?.history)) return reading.unknown("file without history");
    const nativeId = textOf(session.sessionId) ?? basename(path, ".json");
    const { mtimeMs } = await stat(path);
    yield {
      nativeId,
      title: PLACEHOLDERS.has(String(session.title)) ? undefined : textOf(session.title),
      cwd: pathOfUri(session.workspaceDirectory),
      model: textOf(session.chatModelTitle),
      startedAt: (await startOf(path, nativeId)) ?? timeOf(mtimeMs),
      endedAt: timeOf(mtimeMs),
      hasSyntheticTimes: true,
      usage: countsOf(session.usage),
    };
    // Where the session has totals, the numbers of its messages are already in them.
    for (const message of messagesOf(session.history, reading))
      yield session.usage === undefined ? message : { ...message, usage: undefined };
  },
});

/** The index is small: a line of a few words for each session. Entries with `session_id` are of an older format. */
async function startOf(path: string, id: string): Promise<number | undefined> {
  const text = await readFile(join(dirname(path), INDEX), "utf8").catch(() => undefined);
  return timeOf(recordsOf(jsonOf(text)).find(({ sessionId }) => sessionId === id)?.dateCreated);
}

function countsOf(value: unknown): Usage | undefined {
  const usage = recordOf(value);
  const counts = usage && { ...usage, ...recordOf(usage.promptTokensDetails) };
  return usageOf(counts, ["promptTokens", "completionTokens", "cachedTokens", "cacheWriteTokens"]);
}

function* messagesOf(history: readonly unknown[], reading: Reading): Generator<Draft> {
  const answered = new Set(
    recordsOf(history).flatMap(({ message }) => textOf(recordOf(message)?.toolCallId) ?? []),
  );
  let thoughts: string[] = [];
  for (const [index, value] of history.entries()) {
    const item = recordOf(value);
    const message = recordOf(item?.message);
    const line = index + 1;
    if (item === undefined || message === undefined) {
      reading.malformed(line, "an item without a message");
      continue;
    }
    const { role } = message;
    const text = textOfContent(message.content, reading);
    if (role === "user") yield { role, text: joined([text, ...contextNames(item)]), line };
    else if (role === "thinking")
      thoughts.push(text); // belongs to the answer that follows
    else if (role === "assistant") {
      const toolCalls = recordsOf(message.toolCalls).map(functionCall);
      const reasoning = joined([...thoughts, textOf(recordOf(item.reasoning)?.text)]);
      yield { role, text, line, toolCalls, reasoning, usage: countsOf(message.usage) };
      thoughts = [];
      yield* stateResults(item, line, answered);
    } else yield { role, text, line, toolCallId: textOf(message.toolCallId) };
  }
}

function textOfContent(content: unknown, reading: Reading): string {
  if (typeof content === "string") return content;
  const unknown = (type: string): void => reading.unknown(type.replace("block", "part"));
  return blocksOf(recordsOf(content), unknown, (part) =>
    part.type === "imageUrl" ? { type: "image" } : part,
  ).text;
}

/** Attached files keep their names; their text is in the session only because it was sent to the model. */
function contextNames(item: Json): string[] {
  return recordsOf(item.contextItems).flatMap(({ name }) =>
    textOf(name) === undefined ? [] : `[file: ${name}]`,
  );
}

/** `answered`: calls whose result is a message of its own. */
function* stateResults(item: Json, line: number, answered: ReadonlySet<string>): Generator<Draft> {
  for (const state of recordsOf(item.toolCallStates)) {
    const toolCallId = textOf(state.toolCallId);
    const isOver = state.status === "done" || state.status === "errored";
    if (!isOver || toolCallId === undefined || answered.has(toolCallId)) continue;
    const text = joined(listOf(state.output).map((part) => textOf(recordOf(part)?.content)));
    yield { role: "tool", text, line, toolCallId };
  }
}
