// Counts the tokens of a request for `/v1/messages/count_tokens` when no server of that wire can be asked: an estimate, which Claude Code
// uses to decide when its window is full.
import { estimateRequest } from "@hermes-memory/core/internal/context";
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { Message, Part } from "@hermes-memory/core/internal/message";
import type { WireRequest } from "./wires/wire.ts";

export function estimatedTokens({ system, messages, tools }: WireRequest): number {
  let files = 0;
  const texts = messages.map((message): Message => {
    const { content } = message;
    if (content === null || typeof content === "string") return message;
    const kept = content.filter((part) => {
      const tokens = fileTokens(part);
      files += tokens;
      return tokens === 0;
    });
    return kept.length === content.length ? message : { ...message, content: kept };
  });
  return Math.max(1, estimateRequest({ system, messages: texts, tools }) + files);
}

/** A page of a PDF has about 50 kB and costs 1,500 to 3,000 tokens; its base64 text would count as far more. */
const PAGE_CHARS = 66_000;
const PAGE_TOKENS = 2_500;

/** 0 for a part that is no file. */
function fileTokens(part: Part): number {
  const source = part.type === "other" && isRecord(part.value) ? part.value.source : undefined;
  if (!isRecord(source) || source.type === "text" || source.type === "content") return 0;
  const { data } = source;
  return typeof data === "string" ? Math.ceil(data.length / PAGE_CHARS) * PAGE_TOKENS : PAGE_TOKENS;
}
