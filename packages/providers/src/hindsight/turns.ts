// A finished turn as Hindsight stores it: messages with a speaker and a time, tags, and metadata of texts only.
import { outsideJsonOr, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import type { InitializeOptions } from "@hermes-memory/core/internal/providers";
import { fieldsOf, recordsOf, textIn } from "../kit/networked/answers.ts";
import type { Turn } from "../kit/networked/service.ts";
import type { RetainItem } from "./api.ts";
import type { HindsightSettings } from "./settings.ts";

type StoredMessage = { readonly role: string; readonly content: string; readonly timestamp: string };
type Metadata = Readonly<Record<string, string>>;

/** In the outbox. */
export type TurnBody = {
  readonly bank: string;
  /** Names this turn, to withdraw it. */
  readonly key: string;
  readonly messages: readonly StoredMessage[];
  readonly tags: readonly string[];
  readonly metadata: Metadata;
};

/** Longest tool call and result that are stored, in characters. */
const TOOL_MAX_CHARS = 2_000;

export function turnBody(
  turn: Turn,
  about: {
    readonly settings: HindsightSettings;
    readonly options: InitializeOptions;
    readonly bank: string;
    readonly key: string;
    readonly parent: string;
  },
): TurnBody {
  const { settings, options, bank, key, parent } = about;
  const { sessionId, at, number } = turn;
  const messages = messagesOf(turn, settings);
  const tags = [
    ...settings.retainTags,
    ...(sessionId === "" ? [] : [`session:${sessionId}`]),
    ...(parent === "" ? [] : [`parent:${parent}`]),
  ];
  const counts = { messageCount: messages.length, turnIndex: number };
  const metadata = metadataOf(settings.retainSource, options, { at, sessionId, ...counts });
  return { bank, key, messages, tags: [...new Set(tags)], metadata };
}

export function metadataOf(
  source: string,
  options: InitializeOptions,
  {
    at,
    sessionId,
    messageCount,
    turnIndex,
  }: {
    readonly at: string;
    readonly sessionId: string;
    readonly messageCount: number;
    readonly turnIndex: number;
  },
): Metadata {
  const { platform, user_id, user_name, chat_id, chat_name, chat_type, thread_id, agent_identity } = options;
  const known = { platform, user_id, user_name, chat_id, chat_name, chat_type, thread_id, agent_identity };
  const texts = Object.entries({ source, session_id: sessionId, ...known }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
  );
  return {
    retained_at: at,
    message_count: String(messageCount),
    turn_index: String(turnIndex),
    ...Object.fromEntries(texts),
  };
}

/** Several turns of one session as one item. The same turns give the same item, which makes a repeated delivery recognisable. */
export function itemOfTurns(turns: readonly TurnBody[]): RetainItem {
  const last = turns.at(-1);
  const count = turns.reduce((sum, { messages }) => sum + messages.length, 0);
  return {
    content: JSON.stringify(turns.map(({ messages }) => messages)),
    metadata: { ...last?.metadata, message_count: String(count) },
    tags: last?.tags ?? [],
  };
}

/**
 * Turns as they were stored, as the lines that were said; every other text as it is. A server that finds no fact in a turn may give back
 * the turn itself.
 */
export function spokenText(text: string): string {
  const lines = text.split("\n").map((line) => {
    const value = /^\s*\[/.test(line) ? outsideJsonOr(line, undefined) : undefined;
    const messages = Array.isArray(value) ? value.flat() : [];
    const isTurns = messages.length > 0 && messages.every(isStoredMessage);
    return isTurns ? messages.map(({ content }) => content).join("\n") : line;
  });
  return lines.join("\n");
}

function isStoredMessage(value: unknown): value is StoredMessage {
  const { role, content, timestamp } = fieldsOf(value);
  return [role, content, timestamp].every((each) => typeof each === "string");
}

function messagesOf(turn: Turn, settings: HindsightSettings): readonly StoredMessage[] {
  const { user, assistant, at: timestamp } = turn;
  const tools = settings.isRetainingToolCalls ? toolTexts(turn.messages ?? []) : [];
  return [
    ...(user === "" ? [] : [{ role: "user", content: `${settings.userPrefix}: ${user}`, timestamp }]),
    ...tools.map((content) => ({ role: "tool", content, timestamp })),
    ...(assistant === ""
      ? []
      : [{ role: "assistant", content: `${settings.assistantPrefix}: ${assistant}`, timestamp }]),
  ];
}

/** The tool calls since the user's last message, with their results. */
function toolTexts(messages: readonly OpenAiMessage[]): readonly string[] {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  const results = new Map(
    turn.map((message) => {
      const { tool_call_id, content } = fieldsOf(message);
      return [textIn(tool_call_id), textIn(content)] as const;
    }),
  );
  return turn.flatMap((message) =>
    recordsOf(fieldsOf(message).tool_calls).map((call) => {
      const { name, arguments: given } = fieldsOf(call.function);
      const text = `Tool ${textIn(name)} ${textIn(given)}: ${results.get(textIn(call.id)) ?? ""}`;
      return takeCodePoints(text.toWellFormed(), TOOL_MAX_CHARS);
    }),
  );
}
