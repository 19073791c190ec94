// One answer of an assistant that holds text, tool calls and their results in a row: as the messages a model API would have seen.
import type { ToolCall, TranscriptMessage } from "../reader.ts";
import { joined } from "./parts.ts";
import { textOf } from "./values.ts";

export type TurnPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string }
  | {
      readonly kind: "call";
      readonly id: string | undefined;
      readonly name: string;
      readonly arguments: string;
    }
  /** Without an id it answers the first call that has no result yet. */
  | {
      readonly kind: "result";
      readonly id: string | undefined;
      readonly name?: string | undefined;
      readonly text: string;
    };

type Shared = Pick<TranscriptMessage, "at" | "line" | "path" | "model" | "usage" | "isActive">;

/**
 * A new assistant message begins where text or a call follows a result. The first has the id itself, the others the id with `#1`, `#2`
 * and so on, results the id with `#r1`, `#r2`. Usage is on the first only.
 */
export function* messagesOfTurn(
  id: string,
  parts: Iterable<TurnPart>,
  shared: Shared,
): Generator<TranscriptMessage> {
  const open = new Map<string, string>();
  let texts: string[] = [];
  let thoughts: string[] = [];
  let calls: ToolCall[] = [];
  let [answers, results, callCount] = [0, 0, 0];
  const { usage, model, ...rest } = shared;

  function* answer(): Generator<TranscriptMessage> {
    const text = joined(texts);
    const reasoning = joined(thoughts);
    if (text === "" && reasoning === "" && calls.length === 0) return;
    yield {
      id: answers === 0 ? id : `${id}#${answers}`,
      role: "assistant",
      text,
      ...rest,
      model,
      toolCalls: calls.length > 0 ? calls : undefined,
      reasoning: textOf(reasoning),
      usage: answers === 0 ? usage : undefined,
    };
    answers += 1;
    [texts, thoughts, calls] = [[], [], []];
  }

  for (const part of parts) {
    if (part.kind === "text") texts.push(part.text);
    else if (part.kind === "reasoning") thoughts.push(part.text);
    else if (part.kind === "call") {
      callCount += 1;
      const callId = part.id ?? `${id}#c${callCount}`;
      calls.push({ id: callId, name: part.name, arguments: part.arguments });
      open.set(callId, part.name);
    } else {
      yield* answer();
      results += 1;
      const callId = part.id ?? open.keys().next().value;
      const name = (callId === undefined ? undefined : open.get(callId)) ?? part.name;
      if (callId !== undefined) open.delete(callId);
      const call = { toolCallId: callId, toolName: name };
      yield { id: `${id}#r${results}`, role: "tool", text: part.text, ...rest, ...call };
    }
  }
  yield* answer();
}
