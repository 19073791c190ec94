// Tools that a program hands to its agent, made with the AI SDK's `tool()`. What is wrong with one is said when the agent is
// made, not when a model first calls it.

import { HermesError } from "@hermes-memory/core/lib";
import type { Message } from "@hermes-memory/core/message";
import { flattenContent } from "@hermes-memory/core/providers";
import { argumentPreview } from "./argument-preview.ts";
import { coreToolLike } from "./core-names.ts";
import { TOOL_NAME } from "./foreign-schema.ts";
import { errorOutcome } from "./outcome.ts";
import type { AgentTool, ToolCallContext, ToolOutcome } from "./tool.ts";
import { asOutcome, type ModelOutput } from "./user-tool-result.ts";

export type UserToolOptions = {
  /** Names of tools that change nothing, so that their calls may run at the same time. */
  readonly readOnlyTools?: readonly string[] | undefined;
};

/** Rejects with `bad-tool` for the first one that cannot be used. */
export async function userTools(
  tools: Readonly<Record<string, unknown>>,
  { readOnlyTools = [] }: UserToolOptions = {},
): Promise<readonly AgentTool[]> {
  const stray = readOnlyTools.find((name) => !Object.hasOwn(tools, name));
  if (stray !== undefined)
    throw badTool(
      `readOnlyTools names '${stray}', but there is no such tool.`,
      "Name tools that are in 'tools', or leave it out.",
    );
  const made: AgentTool[] = [];
  for (const [name, given] of Object.entries(tools)) {
    checkName(name);
    made.push(await toAgentTool(name, usable(name, given), readOnlyTools.includes(name)));
  }
  return made;
}

/** What we use of the AI SDK's `Tool`. */
type SdkTool = {
  readonly description?: unknown;
  readonly inputSchema: unknown;
  readonly toModelOutput?: (result: {
    readonly toolCallId: string;
    readonly input: unknown;
    readonly output: unknown;
  }) => ModelOutput | PromiseLike<ModelOutput>;
  execute(input: unknown, options: object): unknown;
};

// Names other programs know for what comes from the network; their results are fenced.
const FROM_OUTSIDE = /^(?:web_|browser_|mcp_)/;

async function toAgentTool(name: string, tool: SdkTool, isReadOnly: boolean): Promise<AgentTool> {
  const { parameters, validate } = await readSchema(name, tool.inputSchema);
  return {
    schema: { name, description: descriptionOf(tool), parameters },
    toolset: "user",
    isReadOnly,
    ...(FROM_OUTSIDE.test(name) ? { untrustedSource: name } : {}),
    preview: (args) => argumentPreview(args),
    run: async (args, call) => {
      const checked = (await validate?.(args)) ?? { success: true as const, value: args };
      if (!checked.success)
        return errorOutcome(
          `The arguments of '${name}' do not fit: ${issuesIn(checked.error)}. Nothing was run.`,
        );
      return execute(tool, checked.value, call);
    },
  };
}

async function execute(tool: SdkTool, input: unknown, call: ToolCallContext): Promise<ToolOutcome> {
  const { callId: toolCallId, signal: abortSignal } = call;
  const options = { toolCallId, messages: spokenBefore(call.messages), abortSignal, context: {} };
  const returned: unknown = tool.execute(input, options);
  const output: unknown = isAsyncIterable(returned) ? await lastOf(returned) : await returned;
  return asOutcome(
    tool.toModelOutput ? await tool.toModelOutput({ toolCallId, input, output }) : undefined,
    output,
  );
}

type Validation =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: Error };

type ReadSchema = {
  readonly parameters: AgentTool["schema"]["parameters"];
  readonly validate: ((value: unknown) => Validation | PromiseLike<Validation>) | undefined;
};

/** Zod, JSON schema, or whatever else the AI SDK takes. */
async function readSchema(name: string, inputSchema: unknown): Promise<ReadSchema> {
  const { asSchema } = await import("ai");
  try {
    const { jsonSchema, validate } = asSchema(inputSchema as Parameters<typeof asSchema>[0]);
    const { $schema: _dialect, ...parameters } = (await jsonSchema) as Record<string, unknown>;
    if (parameters.type !== undefined && parameters.type !== "object")
      throw new Error(`it describes a ${String(parameters.type)}, and arguments are an object`);
    return { parameters: { type: "object", ...parameters }, validate };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const hint = "Use a zod object, or jsonSchema() of the AI SDK.";
    throw badTool(`The inputSchema of the tool '${name}' cannot be used: ${why}.`, hint, cause);
  }
}

function usable(name: string, given: unknown): SdkTool {
  const tool =
    typeof given === "object" && given !== null ? (given as Readonly<Record<string, unknown>>) : {};
  if (typeof tool.execute !== "function")
    throw badTool(
      `The tool '${name}' has no execute function, so nobody could answer its calls.`,
      "Give tool() an 'execute'. Tools that a model vendor runs itself cannot be used here.",
    );
  if (tool.inputSchema === undefined || tool.inputSchema === null)
    throw badTool(
      `The tool '${name}' has no inputSchema.`,
      "Give tool() an 'inputSchema'; z.object({}) for a tool without arguments.",
    );
  if (tool.needsApproval !== undefined && tool.needsApproval !== false)
    throw badTool(
      `The tool '${name}' asks for approval (needsApproval), which this agent does not do by itself.`,
      "Ask in the hook preToolCall of createAgent, and leave needsApproval out.",
    );
  return given as SdkTool;
}

function checkName(name: string): void {
  if (!TOOL_NAME.test(name))
    throw badTool(
      `'${name.slice(0, 80)}' cannot be the name of a tool.`,
      "Use 1 to 64 letters, digits, '_' and '-': model vendors take no others.",
    );
  const core = coreToolLike(name);
  if (core !== undefined)
    throw badTool(
      `A tool cannot be named '${name}': ${core === name ? "the agent has one of its own" : `it reads like '${core}' of the agent`}.`,
      "Choose another name.",
    );
}

function badTool(message: string, hint: string, cause?: unknown): HermesError {
  return new HermesError("bad-tool", message, { hint, cause });
}

function descriptionOf({ description }: SdkTool): string {
  const text: unknown = typeof description === "function" ? description({ context: {} }) : description;
  return typeof text === "string" ? text : "";
}

/** Where the schema says what is wrong and where, that; an error's own text may repeat the whole input. */
function issuesIn(error: Error): string {
  const issues = [error, error.cause].map(issuesOf).find((found) => found !== undefined);
  if (issues === undefined) return (error.cause instanceof Error ? error.cause : error).message;
  return issues
    .map(({ path = [], message }) =>
      path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`,
    )
    .join("; ");
}

type Issue = { readonly path?: readonly unknown[]; readonly message: string };

function issuesOf(value: unknown): readonly Issue[] | undefined {
  if (typeof value !== "object" || value === null || !("issues" in value)) return undefined;
  return Array.isArray(value.issues) ? value.issues : undefined;
}

/** What was said before the reply that makes the call; texts only. */
function spokenBefore(messages: readonly Message[]): object[] {
  const end = messages.findLastIndex(({ role }) => role === "assistant");
  return messages.slice(0, end < 0 ? undefined : end).flatMap(({ role, content }) => {
    const text = role === "user" || role === "assistant" ? flattenContent(content) : "";
    return text === "" ? [] : [{ role, content: text }];
  });
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

async function lastOf(values: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const value of values) last = value;
  return last;
}
