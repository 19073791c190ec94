// Messages of every shape that is stored in a way of its own: plain, Chinese, with NUL, structured, tool calls, results.
// What the index-th message of a session says depends on nothing else, so another process can tell whether it is whole.
import { createHash } from "node:crypto";
import type { NewMessage } from "../../src/sessions/index.ts";

const WORDS = "harbour crane copper lantern ledger willow anchor quarry thistle beacon".split(" ");

export function messageAt(session: string, index: number): NewMessage & { readonly content: unknown } {
  const tag = `${session} number ${index}`;
  const text = Array.from(
    { length: 6 + (index % 40) },
    (_, at) => WORDS[(index * 7 + at * 3) % WORDS.length],
  );
  const content = `${tag} ${text.join(" ")}`;
  switch (index % 10) {
    case 1:
      return { role: "assistant", content: `${tag} 昨天讨论了琥珀灯塔的部署方案`, finishReason: "stop" };
    case 3:
      return {
        role: "tool",
        content: `${tag} before\u0000after`,
        toolName: "terminal",
        toolCallId: `c${index}`,
      };
    case 5:
      return { role: "user", content: [{ type: "text", text: content }] };
    case 7: {
      const call = (name: string) => ({
        id: `call_${index}`,
        type: "function",
        function: { name, arguments: JSON.stringify({ query: content, 地点: "灯塔" }) },
      });
      return { role: "assistant", content: tag, toolCalls: [call("grep"), call("read_file")] };
    }
    default:
      return { role: index % 2 === 0 ? "user" : "assistant", content };
  }
}

/** Of content as it was given or as it was read back. */
export function contentHash(content: unknown): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 16);
}
