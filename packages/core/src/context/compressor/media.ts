// Images are expensive and are sent again with every request. After a compaction only the newest ones of the user stay.
import { type ContextMessage, isRecord, shownText } from "../message.ts";
import { isImagePart } from "../tokens.ts";

const REMOVED = "[Attached image — stripped after compression]";

export function stripOldMedia(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  const newest = messages.findLastIndex((message) => message.role === "user" && hasImage(message.content));
  if (newest <= 0) return messages;
  let isChanged = false;
  const stripped = messages.map((message, index) => {
    const next = index >= newest ? message : withoutMedia(message);
    isChanged ||= next !== message;
    return next;
  });
  return isChanged ? stripped : messages;
}

export function withoutMedia(message: ContextMessage): ContextMessage {
  return hasImage(message.content) ? { ...message, content: withoutImages(message.content) } : message;
}

function hasImage(content: unknown): boolean {
  if (Array.isArray(content)) return content.some(isImagePart);
  return isRecord(content) && content._multimodal === true;
}

function withoutImages(content: unknown): unknown {
  if (Array.isArray(content))
    return content.map((part: unknown) => (isImagePart(part) ? { type: "text", text: REMOVED } : part));
  if (!isRecord(content)) return content;
  return Array.isArray(content.content)
    ? withoutImages(content.content)
    : shownText(content.text_summary) || REMOVED;
}
