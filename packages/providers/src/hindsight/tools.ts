// The three tools of Hindsight: store, search, and an answer that the server reasons out.
import { pyStrip } from "@hermes-memory/core/internal/lib";
import { sanitizeContext } from "@hermes-memory/core/internal/security";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import { textIn } from "../kit/networked/answers.ts";
import { type ServiceTool, ToolRefusal } from "../kit/networked/service.ts";
import { fitChars } from "../kit/provider-mode.ts";
import { parseTags } from "./settings.ts";

/** What the tools need of a connection. */
export type ToolWork = {
  readonly retain: (
    memory: { readonly content: string; readonly context: string; readonly tags: readonly string[] },
    signal: AbortSignal,
  ) => Promise<void>;
  /** The texts of the facts, best first. */
  readonly recall: (query: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly reflect: (query: string, signal: AbortSignal) => Promise<string>;
};

/** About 10,000 tokens: more than the default `recall_max_tokens`. */
const ANSWER_MAX_CHARS = 40_000;
const NOTHING_FOUND = "No relevant memories found.";

const query = { type: "string", description: "What to look for, in whole words or as a question." };

const RETAIN: ToolDefinition = {
  name: "hindsight_retain",
  description:
    "Store something in long-term memory for later conversations. The server extracts facts and entities from it by itself, " +
    "so write whole sentences that make sense without this conversation.",
  parameters: {
    type: "object",
    properties: {
      content: { type: "string", description: "The information to store." },
      context: {
        type: "string",
        description: "A few words on where it comes from, for example 'project decision'.",
      },
      tags: { type: "array", items: { type: "string" }, description: "Tags to store it with." },
    },
    required: ["content"],
  },
};

const RECALL: ToolDefinition = {
  name: "hindsight_recall",
  description:
    "Search long-term memory: meaning, words and the graph of entities together. Returns stored facts, the best match first.",
  parameters: { type: "object", properties: { query }, required: ["query"] },
};

const REFLECT: ToolDefinition = {
  name: "hindsight_reflect",
  description:
    "Ask long-term memory a question whose answer has to be reasoned out of many memories: a summary, a comparison, a tendency. " +
    "Slower than hindsight_recall and returns one text.",
  parameters: { type: "object", properties: { query }, required: ["query"] },
};

export function hindsightTools(work: ToolWork): readonly ServiceTool[] {
  return [
    {
      definition: RETAIN,
      isWriting: true,
      failure: "Failed to store memory",
      run: async (args, signal) => {
        const content = required(args, "content");
        const context = pyStrip(textIn(args.context));
        await work.retain({ content, context, tags: parseTags(args.tags) }, signal);
        return { result: "Memory stored successfully." };
      },
    },
    {
      definition: RECALL,
      failure: "Failed to search memory",
      run: async (args, signal) => {
        const texts = await work.recall(required(args, "query"), signal);
        const lines = texts.map((text, index) => `${index + 1}. ${text}`);
        return answer(lines.join("\n"));
      },
    },
    {
      definition: REFLECT,
      failure: "Failed to reflect",
      run: async (args, signal) => answer(await work.reflect(required(args, "query"), signal)),
    },
  ];
}

function answer(text: string): { readonly result: string } {
  return { result: fitChars(text, ANSWER_MAX_CHARS) || NOTHING_FOUND };
}

function required(args: Readonly<Record<string, unknown>>, key: string): string {
  const text = pyStrip(sanitizeContext(textIn(args[key])));
  if (text === "") throw new ToolRefusal(`Missing required parameter: ${key}`);
  return text;
}
