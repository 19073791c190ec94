// One message of a corpus (a line of JSONL), and its text.
import { z } from "zod";

export type CorpusMessage = z.infer<typeof corpusMessage>;

export const corpusMessage = z.object({
  s: z.string().min(1),
  role: z.string().min(1),
  content: z.union([z.string(), z.null(), z.array(z.unknown()), z.record(z.string(), z.unknown())]),
  ts: z.number(),
  tool_calls: z.array(z.unknown()).nullish(),
  tool_name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
  finish_reason: z.string().nullish(),
});

/** Content, tool calls and tool name. The size of the database is compared with this. */
export function textBytesOf(message: CorpusMessage): number {
  const calls = message.tool_calls ? Buffer.byteLength(JSON.stringify(message.tool_calls)) : 0;
  return Buffer.byteLength(contentText(message) ?? "") + calls + Buffer.byteLength(message.tool_name ?? "");
}

export function contentText({ content }: CorpusMessage): string | null {
  return content === null || typeof content === "string" ? content : JSON.stringify(content);
}
