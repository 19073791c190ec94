// The messages of one request, as a copy of the session's list. Pure: the same list gives the same bytes, whether it is live or
// was read back from the database.
import { repairPairs, withoutRefused } from "@hermes-memory/core/internal/context";
import { isRecord, outsideJsonOr, pyStrip, withoutUndefined } from "@hermes-memory/core/internal/lib";
import {
  type Content,
  type Message,
  newMessage,
  type Part,
  partsOf,
  REFUSED_BY_POLICY,
  type ToolCall,
  toolCallsOf,
  type Vendor,
  withMeta,
  withoutVendor,
} from "@hermes-memory/core/internal/message";
import { injectRecall } from "@hermes-memory/core/internal/providers";
import { defusedResult, sanitizeContext } from "@hermes-memory/core/internal/security";

export type RequestParts = {
  readonly system: string;
  /** Added to the system prompt of the request and never stored. */
  readonly ephemeral?: string | undefined;
  /** Between the system prompt and the conversation. */
  readonly prefill: readonly Message[];
  readonly messages: readonly Message[];
  /** `meta.id` of the message this turn answers. */
  readonly userMessageId: string;
  /** Recall in its fence, and the text of hooks; "" for none. */
  readonly recall: string;
  readonly hookContext: string;
  /** After a vendor refused the signatures of its reasoning. */
  readonly withoutReasoning?: boolean;
  /** `meta.id`s of messages that this request is tried without. */
  readonly triedWithout?: ReadonlySet<string>;
};

export function requestMessages(parts: RequestParts): readonly Message[] {
  const { messages, userMessageId, triedWithout = new Set() } = parts;
  const addition = [parts.recall, parts.hookContext].filter((text) => text !== "").join("\n\n");
  const marked = messages.map((message) =>
    triedWithout.has(message.meta.id) ? withMeta(message, { finishReason: REFUSED_BY_POLICY }) : message,
  );
  const known = withoutRefused(marked).filter(isSent);
  const target = known.some(({ meta }) => meta.id === userMessageId)
    ? userMessageId
    : known.findLast(({ role }) => role === "user")?.meta.id;
  const cleaned = known.map((message) => {
    const clean = asReloaded(message);
    return clean.meta.id === target ? { ...clean, content: injectRecall(clean.content, addition) } : clean;
  });
  const sound = repairPairs(withSoundArguments(cleaned));
  const spoken = withOpening(joinSides(sound.filter((message) => !isSilent(message))));
  const system = [parts.system, pyStrip(parts.ephemeral ?? "")].filter((text) => text !== "").join("\n\n");
  return [
    ...(system === "" ? [] : [newMessage({ role: "system", content: system.toWellFormed() })]),
    ...parts.prefill.map(cleanMessage),
    ...spoken.map((message) => (parts.withoutReasoning ? withoutReasoningFields(message) : message)),
  ];
}

/** The request has a system prompt already, and system rows of other programs are no messages. */
function isSent({ role, meta }: Message): boolean {
  return role !== "system" || meta.writtenRole === "developer";
}

const REASONING_FIELDS: ReadonlySet<string> = new Set([
  "reasoning",
  "reasoning_details",
  "codex_reasoning_items",
  "codex_message_items",
]);

/** The message as it is read back from the database: only the vendors' fields that have a column. */
function asReloaded(message: Message): Message {
  const { vendor: given = {}, ...rest } = cleanMessage(message);
  const vendor = message.role === "assistant" ? storedFields(given) : {};
  return Object.keys(vendor).length === 0 ? rest : { ...rest, vendor };
}

const TEXT_COLUMNS = ["reasoning", "reasoning_content"];
const JSON_COLUMNS = ["reasoning_details", "codex_reasoning_items", "codex_message_items"];

function storedFields(vendor: Vendor): Vendor {
  const texts = TEXT_COLUMNS.flatMap((name) => {
    const value = vendor[name];
    return typeof value === "string" ? [[name, asColumn(value)]] : [];
  });
  const values = JSON_COLUMNS.flatMap((name) => (isEmpty(vendor[name]) ? [] : [[name, vendor[name]]]));
  return Object.fromEntries([...texts, ...values]);
}

/** Such a value is stored as NULL. */
function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return !value;
  return Object.keys(value).length === 0;
}

/** Without the metadata of this process. */
function cleanMessage(message: Message): Message {
  const { id, writtenRole } = message.meta;
  const meta = withoutUndefined({ id, atSeconds: 0, writtenRole });
  const clean = { ...message, content: cleanContent(message), meta };
  if (clean.role !== "tool") return clean;
  const { toolCallId, toolName } = clean;
  return withoutUndefined({
    ...clean,
    toolCallId: asColumn(toolCallId),
    toolName: toolName === undefined ? undefined : asColumn(toolName),
  });
}

/** The text as a column of the database has it. */
function asColumn(text: string): string {
  return text.replaceAll("\u0000", "\ufffd").toWellFormed();
}

/** The content as it is read back from the database: without recall of an earlier turn, without blanks around it. */
function cleanContent({ role, content }: Message): Content {
  if (typeof content === "string") return pyStrip(cleanText(role, content));
  if (content === null) return "";
  return content.flatMap((part): Part[] => {
    if (part.type === "other") {
      // Of a part of another type, such as reasoning, the text is sent where it has one.
      const { value } = part;
      return isRecord(value) && typeof value.text === "string"
        ? [{ ...part, value: { ...value, text: cleanText(role, value.text) } }]
        : [part];
    }
    if (part.type !== "text") return [part];
    const text = cleanText(role, part.text);
    return pyStrip(text) === "" ? [] : [{ ...part, text }]; // some vendors refuse a part without text
  });
}

/** Recall stands in the fence of this turn only: whatever a client or a tool sends as one is none. */
function cleanText(role: Message["role"], text: string): string {
  if (role === "tool") return defusedResult(text.toWellFormed());
  return (role === "user" || role === "assistant" ? sanitizeContext(text) : text).toWellFormed();
}

const CORRUPT =
  "[The arguments of this call could not be read and were replaced by {}; the result below may be of another call than was meant.]";

/** Arguments in one spelling, so that a cached prefix keeps its bytes. Anything but a JSON object becomes `{}`, and its result says so. */
function withSoundArguments(messages: readonly Message[]): readonly Message[] {
  const broken = new Set<string>();
  return messages.map((message) => {
    if (message.role === "assistant") {
      for (const { id, arguments: text } of message.toolCalls)
        if (objectOf(text) === undefined) broken.add(id);
      return { ...message, toolCalls: message.toolCalls.map(withCanonicalArguments) };
    }
    if (message.role !== "tool" || !broken.delete(message.toolCallId)) return message;
    const { content } = message;
    return { ...message, content: `${CORRUPT}\n${typeof content === "string" ? content : ""}` };
  });
}

function withCanonicalArguments(call: ToolCall): ToolCall {
  return { ...call, arguments: JSON.stringify(sorted(objectOf(call.arguments) ?? {})).toWellFormed() };
}

function objectOf(text: string): object | undefined {
  if (pyStrip(text) === "") return {};
  const value = outsideJsonOr(text, undefined);
  return isRecord(value) ? value : undefined;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

/** Vendors refuse a message without text and calls, such as reasoning without an answer. */
function isSilent(message: Message): boolean {
  return isPlain(message) && (message.content === null || message.content.length === 0);
}

/** Vendors want user and assistant to alternate. */
function joinSides(messages: readonly Message[]): readonly Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last !== undefined && last.role === message.role && isPlain(last) && isPlain(message)) {
      // Reasoning belongs to one reply, and this message is made of two.
      const [one, other] = [withoutReasoningFields(last), withoutReasoningFields(message)];
      const vendor = { ...one.vendor, ...other.vendor };
      joined[joined.length - 1] = {
        ...other,
        content: joinContent(last.content, message.content),
        vendor: Object.keys(vendor).length === 0 ? undefined : vendor,
      };
    } else joined.push(message);
  }
  return joined;
}

function isPlain(message: Message): boolean {
  return message.role === "user" || (message.role === "assistant" && toolCallsOf(message).length === 0);
}

/** Vendors want the user's message first, also in a list that was cut. */
function withOpening(messages: readonly Message[]): readonly Message[] {
  if (messages.length === 0 || messages[0]?.role === "user") return messages;
  const content = "[The conversation before this point is not shown.]";
  return [newMessage({ role: "user", content }), ...messages];
}

function joinContent(one: Content, other: Content): Content {
  if (typeof one === "string" && typeof other === "string")
    return [one, other].filter((text) => text !== "").join("\n\n");
  return [...partsOf(one), ...partsOf(other)];
}

function withoutReasoningFields(message: Message): Message {
  return message.role === "assistant" ? withoutVendor(message, REASONING_FIELDS) : message;
}
