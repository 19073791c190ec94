// Properties of every message list an engine returns, for any input.
import { withoutHandoff } from "../../src/context/compressor/handoff.ts";
import { isResult, type Message, toolCallsOf } from "../../src/message/index.ts";

/** Calls not followed by their result, and results without a call. Empty for a list that model servers accept. */
export function unpaired(messages: readonly Message[]): string[] {
  const problems: string[] = [];
  let open: string[] = [];
  const closeGroup = (): void => {
    problems.push(...open.map((id) => `the call ${id} without its result`));
  };
  for (const message of messages) {
    if (!isResult(message)) {
      closeGroup();
      open = toolCallsOf(message).map(({ id }) => id);
      continue;
    }
    const answered = message.toolCallId;
    const at = open.indexOf(answered);
    if (at < 0) problems.push(`a result for ${answered} without its call`);
    else open.splice(at, 1);
  }
  closeGroup();
  return problems;
}

/** What users wrote, without handoffs. */
export function userContents(messages: readonly Message[]): unknown[] {
  return messages.flatMap((message) => {
    const content = message.role === "user" ? withoutHandoff(message)?.content : undefined;
    const isSaid =
      typeof content === "string" ? content.trim() !== "" : Array.isArray(content) && content.length > 0;
    return isSaid ? [content] : [];
  });
}
