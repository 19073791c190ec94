// What the tools of all services share: definitions, arguments, and as many results as an answer has room for.
import { takeCodePoints } from "@hermes-memory/core/internal/lib";
import { outgoing } from "./answers.ts";
import { type ServiceTool, ToolRefusal } from "./service.ts";

export type Arguments = Readonly<Record<string, unknown>>;

type Draft = Omit<ServiceTool, "definition" | "failure"> & {
  readonly name: string;
  readonly description: string;
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly failure?: string;
};

export function tool({
  name,
  description,
  properties = {},
  required = [],
  failure = `${name} failed`,
  ...rest
}: Draft): ServiceTool {
  const parameters = { type: "object", properties, required };
  return { definition: { name, description, parameters }, failure, ...rest };
}

/** "" when it is absent or no text. */
export function optionalText(args: Arguments, key: string): string {
  const value = args[key];
  return typeof value === "string" ? outgoing(value) : "";
}

export function requiredText(
  args: Arguments,
  key: string,
  message = `Missing required parameter: ${key}`,
): string {
  const text = optionalText(args, key);
  if (text === "") throw new ToolRefusal(message);
  return text;
}

/** Of all results in one answer, in characters of JSON. */
const ANSWER_CHARS = 60_000;

/** The first ones that fit. */
export function fitting<T>(results: readonly T[]): readonly T[] {
  let room = ANSWER_CHARS;
  const end = results.findIndex((result) => {
    room -= JSON.stringify(result).length;
    return room < 0;
  });
  return end === -1 ? results : results.slice(0, end);
}

export function shortened(text: string, limit: number): string {
  const head = takeCodePoints(text, limit);
  return head.length < text.length ? `${head}…` : text;
}
