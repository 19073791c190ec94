// OpenHands CLI: a folder per conversation with one JSON file per event.
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { blocksOf } from "../kit/blocks.ts";
import { type Json, joined, jsonOf, jsonText, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, TranscriptMessage, TranscriptReader } from "../reader.ts";

/** Events without conversation. Condensations sum up events that stay in the folder. */
const SILENT_KINDS: ReadonlySet<string> = new Set([
  ...[
    "SystemPromptEvent",
    "ConversationStateUpdateEvent",
    "PauseEvent",
    "TokenEvent",
    "ConversationErrorEvent",
  ],
  ...["Condensation", "CondensationRequest", "CondensationSummaryEvent", "LLMCompletionLogEvent"],
]);

export const openhands: TranscriptReader = {
  source: "openhands",
  title: "OpenHands",
  evidence: "P",
  version: 1,
  roots: ({ home }) => [join(home, ".openhands", "conversations")],
  units: async function* (root, walking) {
    let last = "";
    const file = (path: string): boolean => isEvent(path);
    const options = { file, maxDepth: 3 };
    for await (const path of filesBelow(root, options, walking)) {
      const events = dirname(path);
      if (events === last) continue;
      last = events;
      // A new event changes the time of its folder.
      yield { path: dirname(events), stamps: [events, join(dirname(events), "base_state.json")] };
    }
  },
  // A file in `events` stands for the whole conversation.
  recognises: ({ path, first }) =>
    isEvent(path) && /(?:Event|Observation)$/.test(textOf(recordOf(first)?.kind) ?? ""),
  read: async function* ({ path }, reading) {
    const state = recordOf(
      jsonOf(await readFile(join(path, "base_state.json"), "utf8").catch(() => undefined)),
    );
    const nativeId = textOf(state?.id) ?? basename(path);
    yield {
      kind: "session",
      facts: {
        nativeId,
        cwd: textOf(recordOf(state?.workspace)?.working_dir) ?? textOf(recordOf(state?.workspace)?.cwd),
        model: textOf(recordOf(recordOf(state?.agent)?.llm)?.model),
      },
    };
    const walking = { signal: reading.signal, unreadable: reading.unreadable };
    for await (const file of filesBelow(join(path, "events"), { file: isEvent, maxDepth: 0 }, walking)) {
      const event = await eventIn(file, reading);
      const message = event === undefined ? undefined : messageOf(event, reading);
      if (message === undefined) continue;
      const id = textOf(event?.id) ?? basename(file, ".json");
      yield {
        kind: "message",
        message: { ...message, id, at: timeOf(event?.timestamp), path: file, line: 1 },
      };
    }
  },
};

function isEvent(path: string): boolean {
  return path.endsWith(".json") && basename(dirname(path)) === "events";
}

async function eventIn(file: string, reading: Reading): Promise<Json | undefined> {
  try {
    const text = await readFile(file, "utf8");
    reading.advanced(text.length);
    const event = recordOf(jsonOf(text));
    if (event === undefined) reading.unreadable(file, "not a JSON object");
    return event;
  } catch (cause) {
    reading.unreadable(file, describeCause(cause));
    return undefined;
  }
}

function messageOf(event: Json, reading: Reading): Omit<TranscriptMessage, "id"> | undefined {
  const kind = textOf(event.kind) ?? "";
  if (kind === "MessageEvent") return spoken(event, reading);
  if (kind === "ActionEvent") return action(event, reading);
  const toolCallId = textOf(event.tool_call_id);
  const toolName = textOf(event.tool_name);
  if (kind === "ObservationEvent") {
    const observation = recordOf(event.observation);
    const text = blocksOf(observation?.content ?? observation?.output, reading.unknown).text;
    return { role: "tool", text, toolCallId, toolName };
  }
  if (kind === "AgentErrorEvent" || kind === "UserRejectObservation") {
    const text = textOf(event.error) ?? textOf(event.rejection_reason) ?? "";
    return { role: "tool", text: joined(["Error:", text]).replace("\n\n", " "), toolCallId, toolName };
  }
  if (!SILENT_KINDS.has(kind)) reading.unknown(kind === "" ? "event without kind" : `event ${kind}`);
  return undefined;
}

function spoken(event: Json, reading: Reading): Omit<TranscriptMessage, "id"> | undefined {
  const said = recordOf(event.llm_message);
  const role = textOf(said?.role);
  if (role !== "user" && role !== "assistant") return undefined;
  const { text, reasoning } = blocksOf(said?.content, reading.unknown);
  if (text.trim() === "") return undefined;
  const thought = textOf(said?.reasoning_content) ?? reasoning;
  return { role, text, reasoning: reading.options.includeReasoning ? thought : undefined };
}

/** The last action of a conversation is a call of the tool `finish`, whose message is the answer to the user. */
function action(event: Json, reading: Reading): Omit<TranscriptMessage, "id"> {
  const thought = blocksOf(event.thought, reading.unknown).text;
  const reasoning = reading.options.includeReasoning ? textOf(event.reasoning_content) : undefined;
  const call = recordOf(event.tool_call);
  const done = recordOf(event.action);
  const name = textOf(event.tool_name) ?? textOf(call?.name) ?? "unknown";
  if (name === "finish")
    return { role: "assistant", text: joined([thought, textOf(done?.message)]), reasoning };
  const given = call?.arguments ?? recordOf(call?.function)?.arguments ?? done;
  const id = textOf(event.tool_call_id) ?? textOf(call?.id) ?? "";
  return {
    role: "assistant",
    text: thought,
    reasoning,
    toolCalls: [{ id, name, arguments: jsonText(given) }],
  };
}
