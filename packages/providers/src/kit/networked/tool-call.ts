// The answer to a tool call of the model: an object, with `error` when the call cannot be done.
import { ServiceError } from "../http.ts";
import type { Link } from "./link.ts";
import type { Recaller } from "./recall.ts";
import { type CommonSettings, ToolRefusal } from "./service.ts";

export type Caller<S extends CommonSettings> = {
  readonly label: string;
  readonly link: Link<S>;
  readonly recaller: Recaller<S>;
  readonly isWriting: boolean;
};

export type ToolCall = {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
};

export async function answerToolCall<S extends CommonSettings>(
  { label, link, recaller, isWriting }: Caller<S>,
  { name, args, signal }: ToolCall,
): Promise<object> {
  const { inactive, tools } = link.current();
  if (inactive !== undefined) return { error: inactive };
  const tool = tools.find(({ definition }) => definition.name === name);
  if (tool === undefined) return { error: `Unknown tool: ${name}` };
  if (tool.isWriting === true && !isWriting)
    return {
      error: `${label} stores nothing for this agent: only the agent that talks to the user writes.`,
    };
  try {
    const answer = await tool.run(args, signal);
    if (tool.isWriting === true) recaller.clear();
    return answer;
  } catch (cause) {
    if (cause instanceof ToolRefusal) return { error: cause.message };
    if (cause instanceof ServiceError) return { error: `${tool.failure}: ${cause.failure.message}` };
    throw cause;
  }
}
