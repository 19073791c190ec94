// Messages: the union, its readers, and the converters to the shapes of other programs.

export type { AiSdkMessage, AiSdkVersion, AnyAiSdkMessage } from "./ai-sdk.ts";
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
  isResult,
  type Message,
  type MessageProblem,
  type Meta,
  newMessage,
  type OtherPart,
  type Part,
  partsOf,
  roleOf,
  type SystemMessage,
  type TextPart,
  type ToolCall,
  type ToolMessage,
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
export { isRefused, REFUSED_BY_POLICY, REFUSED_NOTE } from "./refused.ts";
export {
  fromRow,
  type MessageInput,
  type MessageRow,
  type NewMessage,
  type StoredMessageRow,
  toConversationRow,
  toMessageRow,
  toNewMessage,
} from "./rows.ts";
export {
  contentText,
  decodeContent,
  decodeUtf8,
  encodeContent,
  plainText,
  STRUCTURED_PREFIX,
  stringForm,
  type Warn,
} from "./stored-content.ts";
export { callText, flattenContent, partJson, partName, type TextOptions, textOf } from "./text.ts";
export { toAiSdk } from "./to-ai-sdk.ts";
