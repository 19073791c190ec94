// Messages at the door: reads what a caller passes (our messages, rows of OpenAI's chat API, AI SDK messages, results of model calls)
// and writes what a caller gets.
import { describeCause, HermesError, isRecord } from "../lib/index.ts";
import {
  type AiSdkMessage,
  type AnyAiSdkMessage,
  type Content,
  callText,
  fromAiSdk,
  isAiSdkMessage,
  isResult,
  type Message,
  newMessage,
  type OpenAiMessage,
  type Part,
  parseMessage,
  textOf,
  toAiSdk,
  toOpenAi,
  toolCallsOf,
  withMeta,
} from "../message/index.ts";
import { sanitizeContext } from "../security/index.ts";
import { responseId, saysSomething } from "./same-message.ts";
import type { ChatMessage, FormattedMessage, MessageFormat } from "./user-memory.ts";

// ---- Reading ----

/** All of them or, with `bad-message`, none. `what` names the list in the error. */
export function readGiven(values: unknown, what = "messages"): readonly Message[] {
  if (!Array.isArray(values))
    throw unreadable(
      what === "messages"
        ? `The argument after the chat's id is ${typeName(values)}: it must be the text of the user or a list of messages`
        : `The ${what} is not a list`,
    );
  return (values as readonly unknown[]).flatMap((value, index) =>
    readOne(value, `Entry ${index} of the ${what}`),
  );
}

/** A text, a message, messages, or the result of a model call, which is awaited. Throws `bad-message` and `no-reply`. */
export async function readReply(given: unknown): Promise<readonly Message[]> {
  const reply = await Promise.resolve(given).catch((cause: unknown) => {
    throw noReply(describeCause(cause), cause);
  });
  if (typeof reply === "string") return [newMessage({ role: "assistant", content: reply, toolCalls: [] })];
  if (Array.isArray(reply)) return readGiven(reply, "reply");
  if (!isRecord(reply))
    throw unreadable(`The reply, the argument after the text of the user, is ${typeName(reply)}`);
  if (typeof reply.role === "string") return readOne(reply, "The reply");
  try {
    return await readResult(reply);
  } catch (cause) {
    if (cause instanceof HermesError) throw cause;
    throw noReply(describeCause(cause), cause);
  }
}

function noReply(why: string, cause?: unknown): HermesError {
  return new HermesError(
    "no-reply",
    `The model call was stopped or failed before there was a reply: ${why}. Nothing was stored.`,
    {
      hint: "To keep the question: remember(chatId, [{ role: 'user', content: text }]), and behind it the part of the reply that arrived, if any, as a message of the assistant. A later remember(chatId, text, reply) does not store the question again.",
      cause,
    },
  );
}

function typeName(value: unknown): string {
  return value === undefined || value === null ? String(value) : `of type ${typeof value}`;
}

/**
 * `generateText` and `streamText` of the AI SDK: version 7 has the messages of all steps in `responseMessages`, 5 and 6 in
 * `response.messages`. In a stream the fields are promises. Completions of OpenAI's API have `choices`.
 */
async function readResult(result: Readonly<Record<string, unknown>>): Promise<readonly Message[]> {
  const choice: unknown = Array.isArray(result.choices) ? result.choices[0] : undefined;
  if (isRecord(choice)) return withResponse(readOne(choice.message, "The reply"), result.id);
  const steps = await result.responseMessages;
  const response = await result.response;
  const answered = isRecord(response) ? response : {};
  const messages = Array.isArray(steps) ? steps : answered.messages;
  if (Array.isArray(messages) && messages.length === 0) throw noReply("it has no messages");
  if (Array.isArray(messages)) return withResponse(readGiven(messages, "reply"), answered.id);
  const text = await result.text;
  if (typeof text === "string") return withResponse(await readReply(text), answered.id);
  throw unreadable("The reply is neither a text, nor messages, nor the result of generateText or streamText");
}

/** The id of the response, on its last message: it tells two equal replies apart. */
function withResponse(messages: readonly Message[], id: unknown): readonly Message[] {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const message = messages[last];
  if (typeof id !== "string" || id === "" || message?.meta.platformMessageId !== undefined) return messages;
  return message === undefined
    ? messages
    : messages.with(last, withMeta(message, { platformMessageId: responseId(id) }));
}

function readOne(value: unknown, where: string): readonly Message[] {
  if (!isRecord(value)) throw unreadable(`${where} is not an object`);
  const { role, content, parts } = value;
  if (typeof role !== "string" || !ROLES.has(role))
    throw unreadable(`${where} has none of the roles system, developer, user, assistant and tool`);
  if (content === undefined && Array.isArray(parts))
    throw unreadable(`${where} is a message of a user interface, with 'parts' and no 'content'`, UI_HINT);
  const isList = Array.isArray(content);
  if (content !== null && typeof content !== "string" && !isList && !isCall(value))
    throw unreadable(`${where} has a content that is neither text nor a list of parts`);
  return (isAiSdkMessage(value) ? readAiSdk(value as AnyAiSdkMessage, where) : readRow(value, where)).map(
    withoutRecall,
  );
}

const ROLES: ReadonlySet<string> = new Set(["system", "developer", "user", "assistant", "tool", "function"]);
const FORMATS_HINT =
  "Pass messages of this package, rows of OpenAI's chat API, AI SDK messages, or the result of generateText or streamText.";
const UI_HINT = "Convert it with convertToModelMessages of the AI SDK, and pass the result.";

function isCall(row: Readonly<Record<string, unknown>>): boolean {
  return row.content === undefined && Array.isArray(row.tool_calls);
}

function readAiSdk(value: AnyAiSdkMessage, where: string): readonly Message[] {
  try {
    return fromAiSdk([value]).map((message) => withGivenId(message, value));
  } catch (cause) {
    if (!(cause instanceof HermesError)) throw cause;
    throw unreadable(cause.message.replace(/^Entry 0 of the AI SDK's messages/, where).replace(/\.$/, ""));
  }
}

function readRow(value: unknown, where: string): readonly Message[] {
  const parsed = parseMessage(value);
  if (!parsed.ok) throw unreadable(`${where} ${parsed.error.message}`);
  return [withGivenId(parsed.value, value)];
}

function withGivenId(message: Message, given: unknown): Message {
  const id = isRecord(given) && !isRecord(given.meta) ? given.id : undefined;
  if (typeof id !== "string" || id === "" || message.meta.platformMessageId !== undefined) return message;
  return withMeta(message, { platformMessageId: id });
}

/** Recall that `context` added to the request is not part of the conversation. */
export function withoutRecall(message: Message): Message {
  if (message.role !== "user" && message.role !== "assistant") return message;
  const { content } = message;
  if (content === null) return message;
  if (typeof content === "string") {
    const clean = withoutFence(content);
    return clean === content ? message : { ...message, content: clean };
  }
  const isFenced = content.some((part) => part.type === "text" && withoutFence(part.text) !== part.text);
  if (!isFenced) return message;
  const kept = content.flatMap((part): Part[] => {
    if (part.type !== "text") return [part];
    const text = withoutFence(part.text);
    return text === "" ? [] : [{ ...part, text }];
  });
  return { ...message, content: kept };
}

function withoutFence(text: string): string {
  const clean = sanitizeContext(text);
  return clean === text ? text : clean.trim();
}

function unreadable(message: string, hint = FORMATS_HINT): HermesError {
  return new HermesError("bad-message", `${message}. Nothing was stored.`, { hint });
}

// ---- Writing ----

export function inFormat<F extends MessageFormat>(
  messages: readonly Message[],
  format: F,
): FormattedMessage<F>[] {
  switch (format) {
    case "openai":
      return messages.map(toPlainRow) as FormattedMessage<F>[];
    case "hermes":
      return [...messages] as FormattedMessage<F>[];
    default:
      return toChatMessages(messages) as FormattedMessage<F>[];
  }
}

const asChatMessage = new WeakMap<Message, Message>();

/** A message with parts as `context` gives it: some parts became text. */
export function asShown(message: Message): Message | undefined {
  if (message.content === null || typeof message.content === "string") return undefined;
  const known = asChatMessage.get(message);
  if (known !== undefined) return known;
  const [shown] = fromAiSdk(toChatMessages([message]));
  if (shown !== undefined) asChatMessage.set(message, shown);
  return shown;
}

/** Only the fields of OpenAI's API: some servers refuse a row with others. */
function toPlainRow(message: Message): OpenAiMessage {
  const { role, content, tool_calls, tool_call_id, name } = toOpenAi(message, { forOthers: true });
  return {
    role,
    content: isNothing(content) ? (tool_calls === undefined ? "" : null) : content,
    ...(tool_calls === undefined ? {} : { tool_calls: tool_calls.map(plainCall) }),
    ...(tool_call_id === undefined ? {} : { tool_call_id }),
    ...(name === undefined || role === "tool" ? {} : { name }),
  };
}

/** Servers refuse an empty list of parts. */
function isNothing(content: OpenAiMessage["content"]): boolean {
  return content === undefined || content === null || (Array.isArray(content) && content.length === 0);
}

function plainCall({ id, function: called }: NonNullable<OpenAiMessage["tool_calls"]>[number]) {
  const { name, arguments: given } = called;
  return { id, type: "function", function: { name, arguments: given } };
}

/** The common part of the AI SDK's versions. Parts that one of them refuses become text, which says what was there. */
function toChatMessages(messages: readonly Message[]): ChatMessage[] {
  return toAiSdk(messages.map(withoutVendorsCalls), { version: 5 }).map((message): ChatMessage => {
    if (message.role === "tool") return { ...message, content: message.content.map(resultPart) };
    if (typeof message.content === "string") return message as ChatMessage;
    if (message.role === "user") return { ...message, content: message.content.map(userPart) };
    return message.role === "assistant" ? { ...message, content: message.content.map(replyPart) } : message;
  });
}

type Sdk<Role> = Extract<AiSdkMessage<5>, { role: Role }>["content"];
type PartOf<List> = Exclude<List, string> extends (infer Each)[] ? Each : never;
type Chat<Role> = Extract<ChatMessage, { role: Role }>["content"];

function userPart(part: PartOf<Sdk<"user">>): PartOf<Chat<"user">> {
  if (part.type !== "image") return part;
  const { image, mediaType = "image/*", providerOptions } = part;
  return {
    type: "file",
    data: image,
    mediaType,
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
}

function replyPart(part: PartOf<Sdk<"assistant">>): PartOf<Chat<"assistant">> {
  switch (part.type) {
    case "file":
      return { type: "text", text: `[file: ${part.mediaType}]` };
    case "tool-result":
      return { type: "text", text: `[result of ${part.toolName}: ${outputText(part.output)}]` };
    default:
      return part;
  }
}

function resultPart(part: PartOf<Sdk<"tool">>): PartOf<Chat<"tool">> {
  const { type, toolCallId, toolName, output } = part;
  const plain = output.type === "content" ? ({ type: "text", value: outputText(output) } as const) : output;
  return { type, toolCallId, toolName, output: plain };
}

type SdkOutput = PartOf<Sdk<"tool">>["output"];

function outputText(output: SdkOutput): string {
  if (output.type !== "content")
    return typeof output.value === "string" ? output.value : JSON.stringify(output.value);
  return output.value
    .map((part) => (part.type === "text" ? part.text : `[file: ${part.mediaType}]`))
    .join("\n");
}

/** A tool that the vendor ran, with its result in the reply: one version's vendors refuse such a call of another's. */
function withoutVendorsCalls(message: Message): Message {
  const ran = toolCallsOf(message).filter(({ vendor }) => vendor?.providerExecuted === true);
  if (message.role !== "assistant" || ran.length === 0) return message;
  const notes = ran.map(
    (call): Part => ({ type: "text", text: `[the model's provider ran ${callText(call)}]` }),
  );
  const others = message.toolCalls.filter((call) => !ran.includes(call));
  const said: readonly Part[] = listed(message.content);
  return { ...message, content: [...notes, ...said], toolCalls: others };
}

function listed(content: Content): readonly Part[] {
  if (content === null || content === "") return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

// ---- What is said ----

/** The text of the last message of the user; "" for none. */
export function lastUserText(messages: readonly Message[]): string {
  const last = messages.findLast(({ role }) => role === "user");
  return last === undefined ? "" : textOf(last.content);
}

/** Left out of alignment and requests: empty messages, system texts, and results that only fill a gap. */
export function isSpoken(message: Message): boolean {
  return (
    message.role !== "system" && saysSomething(message) && (message.role !== "tool" || isResult(message))
  );
}
