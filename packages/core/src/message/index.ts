// Messages: the union, its accessors, and the converters from and to other formats.

export { type AiSdkMessage, type AiSdkVersion, type AnyAiSdkMessage, isAiSdkMessage } from "./ai-sdk.ts";
export { type MessageColumns, toMessageColumns } from "./columns.ts";
export { fromAiSdk } from "./from-ai-sdk.ts";
export {
  type AssistantMessage,
  type Content,
  checkMessage,
  type Draft,
  type ImagePart,
  isImage,
  isMessage,
  isRefused,
  isResult,
  type Message,
  type MessageProblem,
  type Meta,
  newMessage,
  type OtherPart,
  type Part,
  partsOf,
  REFUSED_BY_POLICY,
  REFUSED_NOTE,
  roleOf,
  type SystemMessage,
  type TextOptions,
  type TextPart,
  type ToolCall,
  type ToolMessage,
  textOf,
  toolCallsOf,
  type UserMessage,
  type Vendor,
  withMeta,
  withoutVendor,
} from "./message.ts";
export {
  envelopeSummary,
  madeUpId,
  type OpenAiMessage,
  type OpenAiPart,
  type OpenAiToolCall,
  parseContent,
  parseMessage,
  parseMessages,
  parseToolCalls,
  readRow,
  renderContent,
  renderToolCalls,
  toOpenAi,
} from "./openai.ts";
export {
  contentText,
  decodeContent,
  decodeUtf8,
  encodeContent,
  fromRow,
  fromRows,
  type MessageInput,
  type MessageRow,
  type NewMessage,
  plainText,
  STRUCTURED_PREFIX,
  type StoredMessageRow,
  toConversationRow,
  toMessageRow,
  toNewMessage,
  type Warn,
} from "./rows.ts";
export { callText, flattenContent, partJson, partName } from "./text.ts";
export { toAiSdk } from "./to-ai-sdk.ts";
export { wordsOf } from "./user-words.ts";
