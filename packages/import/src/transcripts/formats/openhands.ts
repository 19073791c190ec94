// OpenHands CLI: a folder per conversation with one JSON file per event.
import { basename, dirname, join } from "node:path";
import { type Draft, format } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { recordAt, recordIn } from "../kit/json-array.ts";
import { joined, toolCall } from "../kit/parts.ts";
import { type Json, names, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading } from "../reader.ts";

/** Events without conversation. Condensations sum up events that stay in the folder. */
const SILENT_KINDS = names(`
  SystemPromptEvent ConversationStateUpdateEvent PauseEvent TokenEvent ConversationErrorEvent Condensation
  CondensationRequest CondensationSummaryEvent LLMCompletionLogEvent
`);

export const openhands = format({
  source: "openhands",
  title: "OpenHands",
  evidence: "P",
  roots: ({ home }) => [join(home, ".openhands", "conversations")],
  units: async function* (root, walking) {
    let last = "";
    for await (const path of filesBelow(root, { file: isEvent, maxDepth: 3 }, walking)) {
      const events = dirname(path);
      if (events === last) continue;
      last = events;
      // A new event changes the time of its folder.
      yield { path: dirname(events), stamps: [events, join(dirname(events), "base_state.json")] };
    }
  },
  // A file in `events` stands for the whole conversation.
  recognises: ({ path, first }) => isEvent(path) && /(?:Event|Observation)$/.test(String(first.kind)),
  async *read({ path }, reading) {
    const state = await recordAt(join(path, "base_state.json"));
    const workspace = recordOf(state?.workspace);
    yield {
      nativeId: textOf(state?.id) ?? basename(path),
      cwd: textOf(workspace?.working_dir) ?? textOf(workspace?.cwd),
      model: textOf(recordOf(recordOf(state?.agent)?.llm)?.model),
    };
    for await (const file of filesBelow(join(path, "events"), { file: isEvent, maxDepth: 0 }, reading)) {
      const event = await recordIn(file, reading);
      const message = event && messageOf(event, reading);
      const id = textOf(event?.id) ?? basename(file, ".json");
      if (message !== undefined) yield { ...message, id, at: timeOf(event?.timestamp), path: file, line: 1 };
    }
  },
});

function isEvent(path: string): boolean {
  return path.endsWith(".json") && basename(dirname(path)) === "events";
}

function messageOf(event: Json, reading: Reading): Draft | undefined {
  const kind = textOf(event.kind) ?? "";
  const call = { toolCallId: textOf(event.tool_call_id), toolName: textOf(event.tool_name) };
  if (kind === "MessageEvent") {
    const said = recordOf(event.llm_message);
    if (said?.role !== "user" && said?.role !== "assistant") return undefined;
    const { text, reasoning } = blocksOf(said.content, reading.unknown);
    if (text.trim() === "") return undefined;
    return { role: said.role, text, reasoning: textOf(said.reasoning_content) ?? reasoning };
  }
  if (kind === "ActionEvent") return action(event, reading);
  if (kind === "ObservationEvent") {
    const observation = recordOf(event.observation);
    const { text } = blocksOf(observation?.content ?? observation?.output, reading.unknown);
    return { role: "tool", text, ...call };
  }
  if (kind === "AgentErrorEvent" || kind === "UserRejectObservation") {
    const text = textOf(event.error) ?? textOf(event.rejection_reason) ?? "";
    return { role: "tool", text: `Error: ${text}`.trimEnd(), ...call };
  }
  if (!SILENT_KINDS.has(kind)) reading.unknown(kind === "" ? "event without kind" : `event ${kind}`);
  return undefined;
}

/** The last action of a conversation is a call of the tool `finish`, whose message is the answer to the user. */
function action(event: Json, reading: Reading): Draft {
  const thought = blocksOf(event.thought, reading.unknown).text;
  const shared = { role: "assistant", reasoning: textOf(event.reasoning_content) };
  const call = recordOf(event.tool_call);
  const done = recordOf(event.action);
  const name = textOf(event.tool_name) ?? call?.name;
  if (name === "finish") return { ...shared, text: joined([thought, textOf(done?.message)]) };
  const given = call?.arguments ?? recordOf(call?.function)?.arguments ?? done;
  const toolCalls = [toolCall(textOf(event.tool_call_id) ?? call?.id, name, given)];
  return { ...shared, text: thought, toolCalls };
}
