// The three tools of Hindsight: store, search, and an answer that the server reasons out.
import { pyStrip } from "@hermes-memory/core/internal/lib";
import { textIn } from "../kit/networked/answers.ts";
import type { ServiceTool } from "../kit/networked/service.ts";
import { requiredText, tool } from "../kit/networked/tools.ts";
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

export function hindsightTools(work: ToolWork): readonly ServiceTool[] {
  return [
    tool({
      name: "hindsight_retain",
      description:
        "Store something in long-term memory for later conversations. The server extracts facts and entities from it by itself, " +
        "so write whole sentences that make sense without this conversation.",
      properties: {
        content: { type: "string", description: "The information to store." },
        context: {
          type: "string",
          description: "A few words on where it comes from, for example 'project decision'.",
        },
        tags: { type: "array", items: { type: "string" }, description: "Tags to store it with." },
      },
      required: ["content"],
      isWriting: true,
      failure: "Failed to store memory",
      run: async (args, signal) => {
        const content = requiredText(args, "content");
        const context = pyStrip(textIn(args.context));
        await work.retain({ content, context, tags: parseTags(args.tags) }, signal);
        return { result: "Memory stored successfully." };
      },
    }),
    tool({
      name: "hindsight_recall",
      description:
        "Search long-term memory: meaning, words and the graph of entities together. Returns stored facts, the best match first.",
      properties: { query },
      required: ["query"],
      failure: "Failed to search memory",
      run: async (args, signal) => {
        const texts = await work.recall(requiredText(args, "query"), signal);
        const lines = texts.map((text, index) => `${index + 1}. ${text}`);
        return answer(lines.join("\n"));
      },
    }),
    tool({
      name: "hindsight_reflect",
      description:
        "Ask long-term memory a question whose answer has to be reasoned out of many memories: a summary, a comparison, a tendency. " +
        "Slower than hindsight_recall and returns one text.",
      properties: { query },
      required: ["query"],
      failure: "Failed to reflect",
      run: async (args, signal) => answer(await work.reflect(requiredText(args, "query"), signal)),
    }),
  ];
}

function answer(text: string): { readonly result: string } {
  return { result: fitChars(text, ANSWER_MAX_CHARS) || NOTHING_FOUND };
}
