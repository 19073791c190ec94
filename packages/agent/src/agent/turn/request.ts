// The messages of one request, made from the live list. Pure: the list stays as it is, and the same list gives the same bytes,
// whether it is live or was read back from the database.
import { repairPairs, withoutRefused } from "@hermes-memory/core/context";
import { isRecord, outsideJsonOr, pyStrip } from "@hermes-memory/core/lib";
import {
  type Content,
  type Message,
  newMessage,
  type Part,
  partsOf,
  type ToolCall,
  toolCallsOf,
  type Vendor,
  withoutVendor,
} from "@hermes-memory/core/message";
import { injectRecall } from "@hermes-memory/core/providers";
import { sanitizeContext } from "@hermes-memory/core/security";

export type RequestParts = {
  readonly system: string;
  /** Added to the system prompt of this request, and of no stored one. */
  readonly ephemeral?: string | undefined;
  /** Between the system prompt and the conversation. */
  readonly prefill: readonly Message[];
  readonly messages: readonly Message[];
  /** `meta.id` of the message this turn answers. */
  readonly userMessageId: string;
  /** Recall in its fence, and what hooks add; "" for none. */
  readonly recall: string;
  readonly hookContext: string;
  /** After a vendor refused their signatures. */
  readonly withoutReasoning?: boolean;
};

export function requestMessages(parts: RequestParts): readonly Message[] {
  const { messages, userMessageId } = parts;
  const addition = [parts.recall, parts.hookContext].filter((text) => text !== "").join("\n\n");
  const known = withoutRefused(messages).filter(isSent);
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
    ...spoken.map((message) => (parts.withoutReasoning ? withoutThoughts(message) : message)),
  ];
}

/** The system prompt is the request's own, and rows of other programs are no messages. */
function isSent({ role, meta }: Message): boolean {
  return role !== "system" || meta.writtenRole === "developer";
}

const THOUGHTS: ReadonlySet<string> = new Set([
  "reasoning",
  "reasoning_details",
  "codex_reasoning_items",
  "codex_message_items",
]);

/** As the message comes back from the database: of the vendors' fields only those that have a column. */
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

/** Stored as NULL. */
function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return !value;
  return Object.keys(value).length === 0;
}

/** Nothing of its meta but what tells who spoke. */
function cleanMessage(message: Message): Message {
  const { id, writtenRole } = message.meta;
  const meta = { id, atSeconds: 0, ...(writtenRole === undefined ? {} : { writtenRole }) };
  const clean = { ...message, content: cleanContent(message), meta };
  if (clean.role !== "tool") return clean;
  const { toolCallId, toolName, ...rest } = clean;
  const named = toolName === undefined ? {} : { toolName: asColumn(toolName) };
  return { ...rest, toolCallId: asColumn(toolCallId), ...named };
}

/** A text as a column of the database keeps it. */
function asColumn(text: string): string {
  return text.replaceAll("\u0000", "\ufffd").toWellFormed();
}

/** As a message comes back from the database: without recall of an earlier time, without blanks around it. */
function cleanContent({ role, content }: Message): Content {
  if (typeof content === "string") {
    const isDialogue = role === "user" || role === "assistant";
    return pyStrip(isDialogue ? sanitizeContext(content) : content).toWellFormed();
  }
  if (content === null) return "";
  // Some vendors refuse a part without words.
  return content.flatMap((part): Part[] => {
    if (part.type === "other") return [{ ...part, value: wellFormed(part.value) }];
    if (part.type !== "text") return [part];
    return pyStrip(part.text) === "" ? [] : [{ ...part, text: part.text.toWellFormed() }];
  });
}

/** A part of another type, such as a thought, is sent by its text where it has one. */
function wellFormed(value: unknown): unknown {
  return isRecord(value) && typeof value.text === "string"
    ? { ...value, text: value.text.toWellFormed() }
    : value;
}

const CORRUPT =
  "[The arguments of this call could not be read and were replaced by {}; the result below may be of another call than was meant.]";

/** Arguments in one spelling, so that a prefix keeps its bytes. What is no JSON object becomes `{}`, and its result says so. */
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

/** Thoughts without an answer, or no words at all: vendors refuse it, and it says nothing. */
function isSilent(message: Message): boolean {
  return isPlain(message) && (message.content === null || message.content.length === 0);
}

/** Vendors want the sides to take turns. */
function joinSides(messages: readonly Message[]): readonly Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last !== undefined && last.role === message.role && isPlain(last) && isPlain(message)) {
      // Thoughts belong to the reply they led to, and this one is made of two.
      const [one, other] = [withoutThoughts(last), withoutThoughts(message)];
      const vendor = { ...one.vendor, ...other.vendor };
      joined[joined.length - 1] = {
        ...other,
        content: joinContent(last.content, message.content),
        ...(Object.keys(vendor).length === 0 ? {} : { vendor }),
      };
    } else joined.push(message);
  }
  return joined;
}

function isPlain(message: Message): boolean {
  return message.role === "user" || (message.role === "assistant" && toolCallsOf(message).length === 0);
}

/** The user speaks first, also in a history that somebody cut. */
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

function withoutThoughts(message: Message): Message {
  return message.role === "assistant" ? withoutVendor(message, THOUGHTS) : message;
}
