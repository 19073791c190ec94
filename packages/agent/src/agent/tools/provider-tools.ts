// The tools of an external memory. They come with the `memory` toolset, and what they answer is fenced.
import { type MemoryManager, type ToolGate, toolsToInject } from "@hermes-memory/core/providers";
import { argumentPreview } from "./argument-preview.ts";
import { textOutcome } from "./outcome.ts";
import type { AgentTool } from "./tool.ts";

const BUILTIN = "builtin";

/** Deadline and size of an answer are the manager's business. */
export function providerTools(manager: MemoryManager, gate: ToolGate): readonly AgentTool[] {
  // There is one external provider at most, so a tool's owner needs no asking.
  const owner = manager.providers.map(({ name }) => name).find((name) => name !== BUILTIN) ?? BUILTIN;
  return toolsToInject(manager.getAllToolSchemas(), gate).map(({ function: schema }): AgentTool => {
    const { name, description, parameters } = schema;
    return {
      schema: { name, description, parameters },
      toolset: "memory",
      isReadOnly: false,
      untrustedSource: `${owner}/${name}`,
      preview: (args) => argumentPreview(args),
      run: async (args) => textOutcome(await manager.handleToolCall(name, args)),
    };
  });
}
