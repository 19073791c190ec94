// The three tools of ByteRover and their answers, the status of brv that tools and setup report, and the self-test.
import {
  codePointLength,
  err,
  HermesError,
  ok,
  pyStrip,
  type Result,
} from "@hermes-memory/core/internal/lib";
import type { SelfTestReport } from "@hermes-memory/core/internal/providers";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import {
  type BrvClient,
  type BrvData,
  type BrvFailure,
  type CallRules,
  curateCommand,
  firstText,
  type Limits,
  NOTE_MAX_CHARS,
  providersCommand,
  queryCommand,
  searchCommand,
  statusCommand,
} from "./brv-client.ts";
import { toolAnswer } from "./texts.ts";

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

type ToolContext = {
  readonly client: BrvClient;
  readonly limits: Limits;
  /** Time limit of `brv_query`. */
  readonly queryMs: number;
  /** Why the settings file could not be used. */
  readonly problem?: string;
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

async function query(text: string, { client, limits, queryMs }: ToolContext, rules: CallRules) {
  if (text === "") return { error: "query is required" };
  const reply = await client.call(queryCommand(text, queryMs, limits), rules);
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

// ---- Status, for the model, for `hermes memory test` and for setup ----

/** The model that answers `query` and files curated notes; without one both commands fail. */
type ModelProvider = {
  readonly connected: boolean;
  readonly id?: string;
  readonly model?: string;
  /** Why it does not work, or how to connect one. */
  readonly hint?: string;
};

type BrvStatus = {
  /** Several lines for the user or the model. */
  readonly text: string;
  readonly modelProvider: ModelProvider;
};

const CONNECT_HINT =
  "No model provider is connected, so query and curate fail. Run 'brv providers connect byterover' for the free one.";

const LABELS: readonly (readonly [key: string, label: string])[] = [
  ["cliVersion", "Version"],
  ["authStatus", "Account"],
  ["userEmail", "User"],
  ["teamName", "Team"],
  ["spaceName", "Space"],
  ["projectRoot", "Project"],
  ["contextTreeStatus", "Context tree"],
  ["resolverError", "Problem"],
  ["sourcesError", "Problem"],
];

/** Two calls, one after the other, because both would start the same daemon. */
async function readStatus(
  client: BrvClient,
  limits: Limits,
  rules: CallRules = {},
): Promise<Result<BrvStatus, BrvFailure>> {
  const status = await client.call(statusCommand(limits), rules);
  if (!status.ok) return status;
  const provider = await readModelProvider(client, limits, rules);
  const modelProvider: ModelProvider = provider.ok
    ? provider.value
    : {
        connected: false,
        hint: `Whether a model provider is connected is not known: ${provider.error.message}.`,
      };
  return ok({ text: [...statusLines(status.value), modelLine(modelProvider)].join("\n"), modelProvider });
}

export async function readModelProvider(
  client: BrvClient,
  limits: Limits,
  rules: CallRules = {},
): Promise<Result<ModelProvider, BrvFailure>> {
  const reply = await client.call(providersCommand(limits), rules);
  return reply.ok ? ok(modelProviderOf(reply.value)) : err(reply.error);
}

export function modelLine({ connected, id, model, hint }: ModelProvider): string {
  const name = [id ?? "unknown", model === undefined ? "" : `(${model})`].join(" ").trim();
  return `Model provider: ${[connected ? name : "none", hint ?? ""].filter((part) => part !== "").join(". ")}`;
}

function statusLines(data: BrvData): string[] {
  const lines = LABELS.flatMap(([key, label]) => {
    const value = firstText(data[key]);
    return value === undefined
      ? []
      : [`${label}: ${/^[a-z_]+$/.test(value) ? value.replaceAll("_", " ") : value}`];
  });
  return [...lines, ...changesLine(data.contextTreeChanges)];
}

function changesLine(changes: unknown): string[] {
  if (typeof changes !== "object" || changes === null) return [];
  const counts = Object.entries(changes).flatMap(([kind, files]) =>
    Array.isArray(files) && files.length > 0 ? [`${files.length} ${kind}`] : [],
  );
  return counts.length === 0 ? [] : [`Changes: ${counts.join(", ")}`];
}

/** When no provider is connected, brv reports an empty id and no error. */
function modelProviderOf(data: BrvData): ModelProvider {
  const id = firstText(data.providerId);
  if (id === undefined) return { connected: false, hint: CONNECT_HINT };
  return { connected: true, id, model: firstText(data.activeModel), hint: firstText(data.warning) };
}

// ---- Self-test: whether brv answers and search works ----
// Nothing is written, because brv cannot remove a note again.

/** Any words: the test is that search answers, also for an empty tree. */
const PROBE = "is there anything about this project";

export async function testByterover(
  client: BrvClient,
  limits: Limits,
  signal: AbortSignal,
): Promise<SelfTestReport> {
  const status = await timed(() => client.call(statusCommand(limits), { signal }));
  const recall = await timed(() => client.call(searchCommand(PROBE, 1, limits), { signal }));
  const model = await timed(() => readModelProvider(client, limits, { signal }));
  const found = recall.value.totalFound;
  return {
    steps: [
      { name: "status", ms: status.ms, detail: `brv ${firstText(status.value.cliVersion) ?? "answers"}` },
      {
        name: "recall",
        ms: recall.ms,
        detail: `search works, ${typeof found === "number" ? found : 0} found`,
      },
      { name: "model", ms: model.ms, detail: modelLine(model.value) },
      { name: "write", ms: 0, detail: "left out: brv cannot remove a note again" },
    ],
  };
}

async function timed<T>(work: () => Promise<Result<T, BrvFailure>>): Promise<{ ms: number; value: T }> {
  const startedAt = performance.now();
  const outcome = await work();
  if (!outcome.ok) throw new HermesError("byterover-failed", outcome.error.message);
  return { ms: performance.now() - startedAt, value: outcome.value };
}
