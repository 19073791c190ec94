// Images are expensive and are sent again with every request. After a compaction only the newest ones of the user stay.
import {
  type Content,
  envelopeSummary,
  isImage,
  type Message,
  type Part,
  partsOf,
} from "../../message/index.ts";

const REMOVED = "[Attached image — stripped after compression]";

export function stripOldMedia(messages: readonly Message[]): readonly Message[] {
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

export function withoutMedia(message: Message): Message {
  return hasImage(message.content) ? { ...message, content: withoutImages(message.content) } : message;
}

function hasImage(content: Content): boolean {
  if (content === null || typeof content === "string") return false;
  return content.some(isImage) || envelopeSummary(content) !== undefined;
}

function withoutImages(content: Content): Content {
  const parts = partsOf(content).map(
    (part): Part => (isImage(part) ? { type: "text", text: REMOVED } : part),
  );
  return parts.length === 0 ? REMOVED : parts;
}
