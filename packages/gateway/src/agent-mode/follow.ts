// What a request asks for: the user's message or results of the client's tools, and the messages before them, which the stored
// conversation follows. Below: whether a request was answered before. The only file that changes stored rows for the client's list.
import { type Agent, type ClientToolResult, withMaskedArguments } from "@hermes-memory/agent/internal/agent";
import { HermesError } from "@hermes-memory/core/internal/lib";
import {
  type Content,
  fromRow,
  type Message,
  type Part,
  type ToolMessage,
  textOf,
  toolCallsOf,
  withMeta,
  wordsOf,
} from "@hermes-memory/core/internal/message";
import { sourceOf } from "../identity.ts";
import { type ModelTurn, type ProblemError, refused } from "../types.ts";

export type Asked = {
  readonly earlier: readonly Message[];
  readonly now:
    | {
        readonly kind: "message";
        readonly content: Content;
        /** What the user wrote of it, if the client sent more. */
        readonly own?: Content;
      }
    | { readonly kind: "results"; readonly results: readonly ClientToolResult[] };
};

/** Throws 400 for a list that asks for nothing. What the client adds to the newest words of the user is for the model only. Pure. */
export function readAsked(given: readonly Message[]): Asked {
  const end = given.findLastIndex(isSaid);
  // Where nobody asks anything, the client does.
  const isAsked = end >= 0 && given[end]?.role !== "assistant";
  const messages = isAsked ? given.slice(0, end + 1) : given;
  const last = messages.at(-1);
  if (last?.role === "user") {
    if (textOf(last.content).trim() === "" && !hasMedia(last.content))
      throw badList("The last message of the request is empty.", "Send a message with a text.");
    const { summary, own = summary ?? last } = wordsOf(last);
    const before = summary === undefined || summary === own ? [] : [summary];
    const earlier = [...messages.slice(0, -1), ...before];
    const added = given.slice(earlier.findLastIndex(isSaid) + 1).filter(({ role }) => role === "user");
    const sent =
      summary !== undefined ? own.content : added.length > 1 ? added.flatMap(partsIn) : last.content;
    const isMore = sent !== own.content;
    return { earlier, now: { kind: "message", content: sent, ...(isMore && { own: own.content }) } };
  }
  if (last?.role !== "tool")
    throw badList(
      last === undefined
        ? "The request has no messages."
        : "The request ends with a reply, and the agent cannot continue the text of a reply.",
      "End the list with a message of the user, or with the results of tool calls.",
    );
  const from = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  const results = messages.slice(from).filter((message): message is ToolMessage => message.role === "tool");
  return { earlier: messages.slice(0, from), now: { kind: "results", results: results.map(toResult) } };
}

/** By a person or a tool, or a summary in the place of what they said. */
function isSaid(message: Message): boolean {
  return message.role !== "user" || Object.keys(wordsOf(message)).length > 0;
}

function partsIn({ content }: Message): readonly Part[] {
  return Array.isArray(content) ? content : [{ type: "text", text: `${textOf(content)}\n` }];
}

function hasMedia(content: Content): boolean {
  return Array.isArray(content) && content.some(({ type }) => type !== "text");
}

function toResult(message: ToolMessage): ClientToolResult {
  const { content, toolCallId: id, meta } = message;
  const kind = meta.finishReason ?? "";
  return {
    id,
    output: content === null || typeof content === "string" ? (content ?? "") : [...content],
    isError: kind.startsWith("error") || kind === "execution-denied",
  };
}

function badList(message: string, hint: string): ProblemError {
  return refused(400, "no-message", { message, hint, param: "messages" });
}

// ---- Following the client's list ----

/** A conversation that another one has started, or whose session gets a certain id, is created before its agent. */
export async function openNamedChat({ memory, chatId, identity }: ModelTurn, source: string): Promise<void> {
  const { sessionId, parentChatId } = identity.session;
  if (sessionId === undefined && parentChatId === undefined) return;
  await memory.openChat(chatId, { source, sessionId, parentChatId });
}

type Following = {
  /** Names the conversation, also after a reset. */
  readonly chatId: string;
  /** Its message is the newest one already. */
  readonly isRepeated: boolean;
};

/** Before the turn, the stored conversation gets what the request shows of it. The live agent reads the rows again when its turn begins. */
export async function followRequest(
  agent: Agent,
  turn: ModelTurn,
  asked: Asked,
  { chatId, isRepeated }: Following,
): Promise<void> {
  const { memory, identity, signal } = turn;
  const { earlier, now } = asked;
  if (!showsChat(identity, asked)) {
    if (now.kind !== "message") return;
    // The request has only what is new: its own message if it was stored before, and results that came with the user's message.
    const results = earlier.slice(earlier.findLastIndex(({ role }) => role !== "tool") + 1);
    if (isRepeated) await takeBack(agent);
    else if (results.length > 0) await memory.remember(agent.sessionId, results);
    return;
  }
  if (earlier.length === 0 && (await memory.chat(chatId)) === undefined) return;
  // Rows that the list no longer has are taken back, and those of rounds with the agent's own tools, which the client never saw, stay.
  const { history, sessionId } = identity.session;
  await memory.remember(chatId, earlier.map(asStored), {
    follow: "shown",
    keepsUnrelated: history === "server",
    hiddenTools: agent.toolNames,
    source: sourceOf(identity),
    ...{ sessionId, signal },
  });
}

/** The list has more than what is new. Of a conversation that is kept here, results alone are new. */
function showsChat({ session }: ModelTurn["identity"], { earlier }: Asked): boolean {
  if (session.history === "client") return true;
  const isRest = session.previousResponseId !== undefined || session.kind === "conversation";
  return !isRest && earlier.some(({ role }) => role !== "tool");
}

/** Some clients rewrite the ids of calls. Results get the ids of the stored calls that were made of the same tools. */
export async function answeringStored(
  { store, sessionId, toolNames }: Agent,
  { earlier, now }: Asked,
): Promise<Asked["now"]> {
  if (now.kind === "message") return now;
  const rows = (await store?.getMessages(sessionId)) ?? [];
  const newest = rows.findLast(({ role }) => role === "assistant");
  const stored = newest && fromRow(newest);
  const calls = stored ? toolCallsOf(stored).filter(({ name }) => !toolNames.includes(name)) : [];
  const given = earlier.findLast(({ role }) => role === "assistant");
  const shown = given ? toolCallsOf(given) : [];
  const isSame = shown.length === calls.length && shown.every(({ name }, at) => name === calls[at]?.name);
  if (!isSame) return now;
  const ids = new Map(shown.map(({ id }, at) => [id, calls[at]?.id ?? id]));
  return {
    ...now,
    results: now.results.map((result) => ({ ...result, id: ids.get(result.id) ?? result.id })),
  };
}

/** As the agent stores it: a client has the real arguments of its calls. Ids of the client's messages are not ours to compare. */
function asStored(message: Message): Message {
  const known = withMeta(message, { platformMessageId: undefined });
  return known.role === "assistant" ? withMaskedArguments(known) : known;
}

// ---- Repeated requests ----

/** Stored with the message of every request, so that a repetition finds it. */
export function requestId({ retryKey, bodyHash }: Pick<ModelTurn, "retryKey" | "bodyHash">): string {
  return `request:${retryKey ?? bodyHash}`;
}

export type Earlier =
  /** It was answered; `text` and `calls` as the client got them. */
  | {
      readonly kind: "answered";
      readonly text: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
      readonly isWhole: boolean;
    }
  /** Its message is stored, and no whole reply to it. */
  | { readonly kind: "unanswered"; readonly isNewest: boolean };

/** Undefined: the request is new. A client that does not say that it tries again does so as long as it has not got the whole reply. */
export async function findEarlier(
  { store, sessionId, toolNames }: Agent,
  turn: Pick<ModelTurn, "retryKey" | "bodyHash">,
): Promise<Earlier | undefined> {
  // The first request may not have said that it can be repeated. A key is exact.
  const isKey = turn.retryKey?.startsWith("key:") === true;
  const ids = new Set([requestId(turn), ...(isKey ? [] : [`request:${turn.bodyHash}`])]);
  const rows = (await store?.getMessages(sessionId)) ?? [];
  const messages = rows.map(fromRow).filter((message) => message !== undefined);
  const isLast = ids.has(messages.at(-1)?.meta.platformMessageId ?? "");
  const ask = await store?.gateway.getAsk(sessionId);
  const isOpen = ask != null && ids.has(ask.request) && !ask.delivered;
  const isRepeated = turn.retryKey !== undefined || isOpen || isLast;
  return isRepeated ? earlierAnswer(messages, ids, new Set(toolNames)) : undefined;
}

/** Pure. */
export function earlierAnswer(
  messages: readonly Message[],
  ids: ReadonlySet<string>,
  ownTools: ReadonlySet<string>,
): Earlier | undefined {
  const at = messages.findLastIndex(({ meta }) => ids.has(meta.platformMessageId ?? ""));
  if (at < 0) return undefined;
  const next = messages.findIndex(({ role }, index) => index > at && role === "user");
  const behind = messages.slice(at + 1, next < 0 ? undefined : next);
  const replies = behind.filter((message) => message.role === "assistant");
  const last = replies.at(-1);
  const isNewest = next < 0;
  if (last === undefined) return { kind: "unanswered", isNewest };
  // Of a round of the client's tools only what followed the results counts.
  const calls = toolCallsOf(last).filter(({ name }) => !ownTools.has(name));
  const isOpen = toolCallsOf(last).length > 0 && calls.length === 0; // killed while the agent's own tools ran
  const isCut = BROKEN_OFF.has(last.meta.finishReason ?? "");
  const isResults = messages[at]?.role === "tool";
  if (isOpen || (isCut && !isResults)) return { kind: "unanswered", isNewest };
  return {
    kind: "answered",
    text: shownText(replies.map(({ content }) => textOf(content))),
    calls: calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text })),
    isWhole: !isCut,
  };
}

const BROKEN_OFF: ReadonlySet<string> = new Set(["interrupted", "error"]);

/** The text of a turn as a client gets it: those of its replies, between which the agent's own tools ran. */
function shownText(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(BETWEEN_REPLIES);
}

export const BETWEEN_REPLIES = "\n\n";

/** For clients of the API, which have no commands. */
export const SEND_AGAIN = "Send the request again when the other request of this conversation has ended.";

/** The message of a repeated request is taken back, and sent again: it is stored once. */
async function takeBack(agent: Agent): Promise<void> {
  const undone = await agent.undo(1);
  if (!undone.ok && undone.error.kind !== "nothing")
    throw new HermesError(
      "chat-busy",
      "Another process works on this conversation, or has gone on with it.",
      {
        hint: SEND_AGAIN,
      },
    );
}
