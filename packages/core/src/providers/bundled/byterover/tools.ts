// The three tools the model gets, and their answers.
import { codePointLength, pyStrip } from "../../../lib/index.ts";
import type { ToolDefinition } from "../../../tools/index.ts";
import type { BrvClient, CallRules } from "./client.ts";
import { curateCommand, queryCommand } from "./command.ts";
import { type Limits, NOTE_MAX_CHARS } from "./limits.ts";
import { toolAnswer } from "./recall.ts";
import { firstText } from "./reply.ts";
import type { ByteroverSettings } from "./settings.ts";
import { readStatus } from "./status.ts";

export const TOOL_SCHEMAS: readonly ToolDefinition[] = [
  {
    name: "brv_query",
    description:
      "Ask ByteRover's knowledge tree, which outlives this conversation. Use it whenever something from earlier could help: " +
      "decisions, fixes, preferences, patterns, how things were set up. Ask a whole question rather than single words.",
    parameters: {
      type: "object",
      properties: { query: { type: "string", description: "The question, in full." } },
      required: ["query"],
    },
  },
  {
    name: "brv_curate",
    description:
      "Store something in ByteRover's knowledge tree for later conversations: a decision and its reason, a fix, a preference, " +
      "a pattern. It is put into the right category by itself.",
    parameters: {
      type: "object",
      properties: {
        content: {
          type: "string",
          description: "What to remember, so that it makes sense without this conversation.",
        },
      },
      required: ["content"],
    },
  },
  {
    name: "brv_status",
    description:
      "Tell the state of ByteRover: version, account and sync, statistics of the tree, connected model provider.",
    parameters: { type: "object", properties: {}, required: [] },
  },
];

export type ToolContext = {
  readonly client: BrvClient;
  readonly limits: Limits;
  readonly settings: ByteroverSettings;
  /** About the settings file, when it could not be used. */
  readonly problem?: string | undefined;
};

export async function answerTool(
  name: string,
  args: Readonly<Record<string, unknown>>,
  context: ToolContext,
  rules: CallRules,
): Promise<object> {
  switch (name) {
    case "brv_query":
      return await query(textArgument(args.query), context, rules);
    case "brv_curate":
      return await curate(textArgument(args.content), context, rules);
    case "brv_status":
      return await status(context, rules);
    default:
      return { error: `Unknown tool: ${name}` };
  }
}

async function query(text: string, { client, limits, settings }: ToolContext, rules: CallRules) {
  if (text === "") return { error: "query is required" };
  const reply = await client.call(queryCommand(text, settings.queryTimeoutSeconds * 1000, limits), rules);
  return reply.ok ? { result: toolAnswer(reply.value) } : { error: reply.error.message };
}

async function curate(content: string, { client, limits }: ToolContext, rules: CallRules) {
  if (content === "") return { error: "content is required" };
  if (codePointLength(content) > NOTE_MAX_CHARS)
    return { error: `content is too long: at most ${NOTE_MAX_CHARS} characters. Store it in parts.` };
  const reply = await client.call(curateCommand(content, limits), rules);
  return reply.ok ? { result: "Memory curated successfully." } : { error: reply.error.message };
}

async function status({ client, limits, problem }: ToolContext, rules: CallRules) {
  const read = await readStatus(client, limits, rules);
  if (!read.ok) return { error: read.error.message };
  const { text, modelProvider } = read.value;
  return {
    status: problem === undefined ? text : `${text}\nSettings: ${problem}`,
    model_provider: modelProvider,
  };
}

function textArgument(value: unknown): string {
  return pyStrip(firstText(value) ?? "");
}
