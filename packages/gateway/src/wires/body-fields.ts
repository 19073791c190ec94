// The fields of a body that would be lost when it is not forwarded on the same wire, so that the request is refused by name. All others are
// read into a `WireRequest`, unknown, or harmless to leave out (body-fields.test.ts names those of the vendors). The rule: a field is
// harmless if an answer without it is still an answer to this request. That holds for ids, accounting, caching, latency, for limits of
// tools that are refused themselves, for thinking budgets (Claude Code sends one with every request), and for preferences of sampling and
// effort (clients send defaults of these with every request). It does not hold for a format that the client parses, for more or other
// outputs, for limits that the client relies on, for tools that the vendor runs, and for where data may be processed.
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { JsonObject } from "../problem.ts";
import { listOf, recordOf } from "./fields.ts";
import type { WireName } from "./wire.ts";

/** The part of the value that would be lost: `""` for all of it, undefined for nothing. */
type Rule = (value: unknown) => "" | `.${string}` | undefined;

const lost: Rule = (value) => (isNothing(value) ? undefined : "");
const above = (neutral: number) => (value: unknown) =>
  typeof value === "number" && value > neutral ? "" : undefined;
const isOn: Rule = (value) => (value === true ? "" : undefined);
const isOff: Rule = (value) => (value === false ? "" : undefined);
const format: Rule = (value) => ((recordOf(value).type ?? "text") === "text" ? undefined : "");
/** One of these, or a tool by its name, has to be called. Also a choice among some of the tools. */
const choice: Rule = (value) => (value === "auto" || value === "none" ? undefined : "");

export const BODY_FIELDS = {
  chat: {
    tool_choice: choice,
    function_call: choice,
    parallel_tool_calls: isOff,
    n: above(1),
    stop: lost,
    response_format: format,
    logprobs: isOn,
    top_logprobs: above(0),
    logit_bias: lost,
    audio: lost,
    modalities: (value) => (listOf(value).every((each) => each === "text") ? undefined : ""),
    web_search_options: (value) => (isRecord(value) ? "" : undefined),
    moderation: lost,
    // Of other servers with this wire
    guided_json: lost,
    guided_regex: lost,
    guided_choice: lost,
    guided_grammar: lost,
    structured_outputs: lost,
    grammar: lost,
    json_schema: lost,
    plugins: lost,
  },
  responses: {
    tool_choice: choice,
    parallel_tool_calls: isOff,
    text: (value) => (format(recordOf(value).format) === "" ? ".format" : undefined),
    include: (value) => (listOf(value).includes("message.output_text.logprobs") ? ".logprobs" : undefined),
    top_logprobs: above(0),
    background: isOn,
    prompt: lost,
    moderation: lost,
    image: lost,
  },
  messages: {
    tool_choice: (value) => {
      const { type = "auto", disable_parallel_tool_use: isSingle } = recordOf(value);
      if (type !== "auto" && type !== "none") return "";
      return isSingle === true ? ".disable_parallel_tool_use" : undefined;
    },
    stop_sequences: lost,
    output_config: (value) => (format(recordOf(value).format) === "" ? ".format" : undefined),
    output_format: format,
    mcp_servers: lost,
    container: lost,
    inference_geo: lost,
    thread: lost,
  },
} as const satisfies Readonly<Record<WireName, Readonly<Record<string, Rule>>>>;

/** The names of the fields of this body that would be lost, in the order of the table. */
export function lostFields(wire: WireName, body: JsonObject): readonly string[] {
  const rules: Readonly<Record<string, Rule>> = BODY_FIELDS[wire];
  return Object.entries(rules).flatMap(([name, rule]) => {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    const part = value === undefined || value === null ? undefined : rule(value);
    return part === undefined ? [] : [`${name}${part}`];
  });
}

/** A client that writes an empty list or object asks for nothing. */
function isNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value)
    ? Object.keys(value).length === 0
    : value === undefined || value === "" || value === false;
}
