// Tools that a program passes to `createAgent`, made with the AI SDK's `tool()`. A tool that cannot be used is reported when the
// agent is created, not when a model first calls it.
import { HermesError, isRecord } from "@hermes-memory/core/internal/lib";
import { type Message, renderContent } from "@hermes-memory/core/internal/message";
import { flattenContent } from "@hermes-memory/core/internal/providers";
import {
  argumentPreview,
  errorOutcome,
  foreignFlaw,
  ownNameLike,
  TOOL_NAME,
  type Tool,
  type ToolCallContext,
  type ToolOutcome,
} from "@hermes-memory/core/internal/tools";

export type UserToolOptions = {
  /** Names of tools that change nothing: their calls may run side by side. */
  readonly readOnlyTools?: readonly string[] | undefined;
};

/** Rejects with `bad-tool` for the first tool that cannot be used. */
export async function userTools(
  tools: Readonly<Record<string, unknown>>,
  { readOnlyTools = [] }: UserToolOptions = {},
): Promise<readonly Tool[]> {
  const stray = readOnlyTools.find((name) => !Object.hasOwn(tools, name));
  if (stray !== undefined)
    throw badTool(
      `readOnlyTools names '${stray}', but there is no such tool.`,
      "Name tools that are in 'tools', or leave it out.",
    );
  const made: Tool[] = [];
  for (const [name, given] of Object.entries(tools)) {
    checkName(name);
    made.push(await toEntry(name, usable(name, given), readOnlyTools.includes(name)));
  }
  return made;
}

/** The fields of the AI SDK's `Tool` that we use. */
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

/** Tools named like this by convention bring text from the network; their results are fenced as untrusted. */
const FROM_OUTSIDE = /^(?:web_|browser_|mcp_)/;

async function toEntry(name: string, tool: SdkTool, isReadOnly: boolean): Promise<Tool> {
  const { parameters, validate } = await readSchema(name, tool.inputSchema);
  const description = descriptionOf(tool);
  const flaw = foreignFlaw({ name, description, parameters }, { isTrusted: true });
  if (flaw !== undefined)
    throw badTool(
      `The program offers a tool ${flaw}.`,
      "Every request carries it whole: make its description and inputSchema smaller.",
    );
  return {
    name,
    description,
    schema: parameters,
    owner: { kind: "program" },
    policy: {
      toolset: "user",
      effect: isReadOnly ? "read" : "write",
      untrustedSource: FROM_OUTSIDE.test(name) ? name : undefined,
    },
    preview: argumentPreview,
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

/** The answer of `toModelOutput`. */
type ModelOutput = { readonly type: string; readonly value?: unknown; readonly reason?: unknown };

/** `shaped` takes precedence over `output`. Throws when the value cannot be written as JSON. */
function asOutcome(shaped: ModelOutput | undefined, output: unknown): ToolOutcome {
  switch (shaped?.type) {
    case "text":
    case "json":
      return { text: asText(shaped.value) };
    case "error-text":
    case "error-json":
      return { text: asText(shaped.value), isError: true };
    case "execution-denied":
      return errorOutcome(
        typeof shaped.reason === "string" ? shaped.reason : "The tool was not allowed to run.",
      );
    case "content":
      return { text: (Array.isArray(shaped.value) ? shaped.value : []).map(partText).join("\n") };
    default:
      return { text: asText(output) };
  }
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

/** Tool results are text only; for a picture or file the text says that there was one. */
function partText(part: unknown): string {
  if (!isRecord(part)) return "";
  return typeof part.text === "string" ? part.text : `[${String(part.mediaType ?? part.type)}: not shown]`;
}

/** Accepts every kind of schema that the AI SDK accepts: Zod, JSON schema and others. */
async function readSchema(name: string, inputSchema: unknown) {
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
  const tool = isRecord(given) ? given : {};
  if (typeof tool.execute !== "function")
    throw badTool(
      `The tool '${name}' has no execute function, so its calls could not be answered.`,
      "Give tool() an 'execute'. Tools that a model vendor runs itself cannot be used here.",
    );
  if (tool.inputSchema === undefined || tool.inputSchema === null)
    throw badTool(
      `The tool '${name}' has no inputSchema.`,
      "Give tool() an 'inputSchema'; z.object({}) for a tool without arguments.",
    );
  if (tool.needsApproval !== undefined && tool.needsApproval !== false)
    throw badTool(
      `The tool '${name}' asks for approval (needsApproval), which this agent does not support. Approve or block its calls in hooks.preToolCall.`,
      "Ask in the hook preToolCall of createAgent, and leave needsApproval out.",
    );
  return given as SdkTool;
}

function checkName(name: string): void {
  if (!TOOL_NAME.test(name))
    throw badTool(
      `'${name.slice(0, 80)}' cannot be the name of a tool.`,
      "Use 1 to 64 letters, digits, '_' and '-': model vendors accept no others.",
    );
  const core = ownNameLike(name);
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

/** The issues that the schema lists, if any: the error's own message may repeat the whole input. */
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
  // A cast: an error's fields are not all its own.
  const { issues } = (value ?? {}) as { readonly issues?: unknown };
  return Array.isArray(issues) ? issues : undefined;
}

/** The texts before the reply that makes the call. */
function spokenBefore(messages: readonly Message[]): object[] {
  const end = messages.findLastIndex(({ role }) => role === "assistant");
  return messages.slice(0, end < 0 ? undefined : end).flatMap(({ role, content }) => {
    const text = role === "user" || role === "assistant" ? flattenContent(renderContent(content)) : "";
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
