// The three tools of ByteRover and their answers, and the state of brv that tools, setup and the self-test report.
import { codePointLength, HermesError, pyStrip, type Result } from "@hermes-memory/core/internal/lib";
import type { SelfTestReport } from "@hermes-memory/core/internal/providers";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import {
  type BrvCommand,
  type BrvData,
  type BrvFailure,
  curateCommand,
  firstText,
  type Limits,
  NOTE_MAX_CHARS,
  queryCommand,
  reportCommand,
  searchCommand,
} from "./brv.ts";
import { toolAnswer } from "./texts.ts";

/** Runs brv for one caller. */
export type Call = (command: BrvCommand) => Promise<Result<BrvData, BrvFailure>>;

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

export async function answerTool(
  name: string,
  args: Readonly<Record<string, unknown>>,
  call: Call,
  limits: Limits,
): Promise<object> {
  const text = pyStrip(firstText(name === "brv_query" ? args.query : args.content) ?? "");
  switch (name) {
    case "brv_query": {
      if (text === "") return { error: "query is required" };
      const reply = await call(queryCommand(text));
      return reply.ok ? { result: toolAnswer(reply.value) } : { error: reply.error.message };
    }
    case "brv_curate": {
      if (text === "") return { error: "content is required" };
      if (codePointLength(text) > NOTE_MAX_CHARS)
        return { error: `content is too long: at most ${NOTE_MAX_CHARS} characters. Store it in parts.` };
      const reply = await call(curateCommand(text, limits));
      return reply.ok ? { result: "Memory curated successfully." } : { error: reply.error.message };
    }
    case "brv_status": {
      const reply = await call(reportCommand("status"));
      return reply.ok
        ? { status: [...statusLines(reply.value), await modelLine(call)].join("\n") }
        : { error: reply.error.message };
    }
    default:
      return { error: `Unknown tool: ${name}` };
  }
}

/** The texts and the counts of lists that brv reports, one per line. */
function statusLines(data: BrvData): string[] {
  return Object.entries(data).flatMap(([key, value]) => {
    if (typeof value !== "object" || value === null) return [`${key}: ${value}`];
    const counts = Object.entries(value).flatMap(([kind, list]) =>
      Array.isArray(list) && list.length > 0 ? [`${list.length} ${kind}`] : [],
    );
    return counts.length === 0 ? [] : [`${key}: ${counts.join(", ")}`];
  });
}

/** The model that answers `query` and files curated notes; without one both commands fail. */
export async function modelLine(call: Call): Promise<string> {
  const reply = await call(reportCommand("providers"));
  if (!reply.ok) return `Model provider: not known, ${reply.error.message}.`;
  const { providerId, activeModel, warning } = reply.value;
  if (firstText(providerId) === undefined)
    return "Model provider: none, so query and curate fail. Run 'brv providers connect byterover' for the free one.";
  const model = firstText(activeModel) === undefined ? "" : ` (${activeModel})`;
  return `Model provider: ${providerId}${model}${firstText(warning) === undefined ? "" : `. ${warning}`}`;
}

/** Whether brv answers and search works. Nothing is written, because brv cannot remove a note again. */
export async function testByterover(call: Call, limits: Limits): Promise<SelfTestReport> {
  const timed = async (command: BrvCommand) => {
    const startedAt = performance.now();
    const reply = await call(command);
    if (!reply.ok) throw new HermesError("byterover-failed", reply.error.message);
    return { ms: performance.now() - startedAt, data: reply.value };
  };
  const status = await timed(reportCommand("status"));
  const recall = await timed(searchCommand("is there anything about this project", limits)); // any words
  return {
    steps: [
      { name: "status", ms: status.ms, detail: `brv ${firstText(status.data.cliVersion) ?? "answers"}` },
      { name: "recall", ms: recall.ms, detail: `search works. ${await modelLine(call)}` },
      { name: "write", ms: 0, detail: "left out: brv cannot remove a note again" },
    ],
  };
}
