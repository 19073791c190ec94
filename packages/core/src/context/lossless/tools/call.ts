// A call of one of the engine's tools: untyped arguments in, JSON out. Never rejects.
import { describeCause, isRecord, ok, type Result } from "../../../lib/index.ts";
import type { Args } from "./arguments.ts";
import { describe, status } from "./describe.ts";
import { expand } from "./expand.ts";
import { grep } from "./grep.ts";
import { openView, type ToolPlace, type View } from "./view.ts";

type Tool = (view: View, args: Args) => Promise<Result<object, string>>;

const TOOLS: ReadonlyMap<string, Tool> = new Map<string, Tool>([
  ["lcm_grep", grep],
  ["lcm_describe", describe],
  ["lcm_expand", expand],
  ["lcm_status", async (view) => ok(status(view))],
]);

export async function lcmTool(name: string, args: unknown, place: ToolPlace): Promise<string> {
  const tool = TOOLS.get(name);
  if (tool === undefined) return failure(`Unknown context engine tool: ${name}`);
  try {
    const answer = await tool(await openView(place), isRecord(args) ? args : {});
    return answer.ok ? JSON.stringify(answer.value) : failure(answer.error);
  } catch (cause) {
    return failure(`${name} failed: ${describeCause(cause)}`);
  }
}

function failure(text: string): string {
  return JSON.stringify({ error: text });
}
