// Messages of the AI SDK, versions 5, 6 and 7. Their types are declared here, so that core does not depend on `ai`.
// Reasoning is kept in `vendor` as `reasoning_details`, which the database stores, and converts back unchanged. `providerOptions`
// keep their name. A part that the union has no field for becomes an `other` part; bytes and URLs in it become text, so that
// every message can be stored as JSON.
//
// Text alone becomes plain text: one text part of a message, and adjacent text parts of a reply, which the SDK joins as well, unless they
// have `providerOptions` or other parts beside them. Empty text of a reply is left out. Otherwise a list that was only held in memory
// converts back unchanged. The session store keeps the same, with the kind of each output and the order of a reply's parts
// (openai.ts). It has no column for the `providerOptions` of a message, of a result and of its output, and loses them.
import { isRecord } from "../lib/index.ts";
import type { PartKind } from "./message.ts";

export type AiSdkVersion = 5 | 6 | 7;

/** `ModelMessage` of any version. */
export type AnyAiSdkMessage = {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly object[];
  readonly providerOptions?: object | undefined;
};

/** `ModelMessage` of one version. */
export type AiSdkMessage<V extends AiSdkVersion> = WithOptions<
  | { role: "system"; content: string }
  | { role: "user"; content: string | UserPart<V>[] }
  | { role: "assistant"; content: string | AssistantPart<V>[] }
  | { role: "tool"; content: ToolPart<V>[] }
>;

type Json = null | string | number | boolean | Json[] | { [key: string]: Json };
type WithOptions<T> = T & { providerOptions?: { [vendor: string]: { [key: string]: Json } } };

type Reference = Record<string, string>;
type TaggedData =
  | { type: "data"; data: string }
  | { type: "url"; url: URL }
  | { type: "reference"; reference: Reference }
  | { type: "text"; text: string };

type TextPart = WithOptions<{ type: "text"; text: string }>;
type FilePart<V> = WithOptions<{
  type: "file";
  data: V extends 7 ? string | URL | TaggedData | Reference : string | URL;
  mediaType: string;
  filename?: string;
}>;
type UserPart<V> =
  | TextPart
  | WithOptions<{ type: "image"; image: string | URL; mediaType?: string }>
  | FilePart<V>;
type AssistantPart<V> =
  | TextPart
  | FilePart<V>
  | WithOptions<{ type: "reasoning"; text: string }>
  | WithOptions<{
      type: "tool-call";
      toolCallId: string;
      toolName: string;
      input: unknown;
      providerExecuted?: boolean;
    }>
  | ResultPart<V>
  | (V extends 5 ? never : { type: "tool-approval-request"; approvalId: string; toolCallId: string })
  | (V extends 7
      ?
          | WithOptions<{ type: "custom"; kind: `${string}.${string}` }>
          | WithOptions<{ type: "reasoning-file"; data: string | URL; mediaType: string }>
      : never);
type ToolPart<V> =
  | ResultPart<V>
  | (V extends 5 ? never : { type: "tool-approval-response"; approvalId: string; approved: boolean });
type ResultPart<V> = WithOptions<{
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: Output<V>;
}>;
type Output<V> = WithOptions<
  | { type: "text" | "error-text"; value: string }
  | { type: "json" | "error-json"; value: Json }
  | { type: "content"; value: OutputPart<V>[] }
  | (V extends 5 ? never : { type: "execution-denied"; reason?: string })
>;
type OutputPart<V> =
  | TextPart
  | (V extends 7 ? never : { type: "media"; data: string; mediaType: string })
  | (V extends 5
      ? never
      :
          | WithOptions<{ type: "image-data"; data: string; mediaType: string }>
          | WithOptions<{ type: "file-data"; data: string; mediaType: string; filename?: string }>
          | WithOptions<{ type: "image-url"; url: string }>
          | WithOptions<{ type: "file-url"; url: string; mediaType?: string }>);

export type Fields = Readonly<Record<string, unknown>>;

export function kindOf(part: object): PartKind {
  const { type } = part as Fields;
  if (type === "reasoning") return "reasoning";
  if (type === "tool-result") return "result";
  return type === "tool-call" ? "call" : "content";
}

/** Types of parts that only the AI SDK has. */
const SDK_PARTS: ReadonlySet<unknown> = new Set([
  "tool-call",
  "tool-result",
  "tool-approval-request",
  "tool-approval-response",
  "reasoning",
  "reasoning-file",
  "custom",
]);

/**
 * Whether a value with a role is an AI SDK message rather than a chat row or a `Message`. A message of plain text is the same in all
 * of them, and counts as a chat row.
 */
export function isAiSdkMessage(value: Fields): boolean {
  if (isRecord(value.meta)) return false;
  if (isRecord(value.providerOptions)) return true;
  return Array.isArray(value.content) && value.content.filter(isRecord).some(isSdkPart);
}

/** Images and files have the same types elsewhere, but other fields. */
function isSdkPart({ type, image, mediaType, providerOptions }: Fields): boolean {
  if (SDK_PARTS.has(type) || isRecord(providerOptions)) return true;
  return (type === "image" && image !== undefined) || (type === "file" && mediaType !== undefined);
}
