// Tool schemas from outside. They go into every request word for word, so they are looked at like any other foreign text.
import { isRecord, outsideJsonProblem, parseOutsideJson, preview } from "@hermes-memory/core/lib";
import { scanThreats } from "@hermes-memory/core/security";
import { coreToolLike } from "./core-names.ts";
import type { ToolSchema } from "./tool.ts";

export type ReadSchemas = {
  readonly schemas: readonly ToolSchema[];
  /** A sentence for each that was left out. */
  readonly remarks: readonly string[];
};

/** What model APIs take; one name outside makes them refuse the whole request. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Long schemas have some thousand. One of this size would crowd out the conversation. */
const MAX_SCHEMA_CHARS = 30_000;

/** `owner` begins the remarks. */
export function readForeignSchemas(answer: unknown, owner: string): ReadSchemas {
  const items = itemsIn(answer);
  if (items === undefined)
    return { schemas: [], remarks: [`${owner} has a list of tools that cannot be read.`] };
  const schemas = new Map<string, ToolSchema>();
  const remarks: string[] = [];
  for (const item of items) {
    const copy = copied(item);
    const schema = "value" in copy ? toSchema(copy.value) : undefined;
    const flaw =
      "flaw" in copy
        ? copy.flaw
        : schema === undefined
          ? "without a name"
          : schemas.has(schema.name)
            ? "twice"
            : flawOf(schema);
    if (schema !== undefined && flaw === undefined) schemas.set(schema.name, schema);
    else remarks.push(`${owner} offers a tool ${flaw}. It is left out.`);
  }
  return { schemas: [...schemas.values()], remarks };
}

/** Reads on after "offers a tool"; undefined when nothing is wrong with it. */
export function flawOf(schema: ToolSchema): string | undefined {
  if (!TOOL_NAME.test(schema.name))
    return `named ${JSON.stringify(preview(schema.name, 40))}; use up to 64 letters, digits, '_' and '-'`;
  const problem = outsideJsonProblem(schema);
  if (problem !== undefined) return `'${schema.name}' whose schema ${problem.message}`;
  const core = coreToolLike(schema.name);
  if (core !== undefined)
    return `named '${schema.name}', which ${core === schema.name ? "belongs to the agent" : `reads like '${core}' of the agent`}`;
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS)
    return `'${schema.name}' whose schema has more than ${MAX_SCHEMA_CHARS} characters`;
  // Its texts, not its JSON: there a line break is two characters that no pattern takes for a blank.
  const [finding] = scanThreats(textsIn(schema).join("\n"), "context");
  return finding && `'${schema.name}' whose schema matches the threat pattern '${finding.id}'`;
}

/** Keys included: a model reads them too. */
function textsIn(schema: ToolSchema): readonly string[] {
  const texts: string[] = [];
  const waiting: unknown[] = [schema]; // no recursion: a stranger decides how deep it goes
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === "string") texts.push(value);
    else if (typeof value === "object" && value !== null) {
      texts.push(...Object.keys(value));
      waiting.push(...Object.values(value).reverse());
    }
  }
  return texts;
}

function itemsIn(answer: unknown): readonly unknown[] | undefined {
  try {
    return Array.isArray(answer) ? [...answer] : undefined;
  } catch {
    return undefined; // members that throw
  }
}

/** As JSON, because that is how it goes into every request. A flaw reads on after "offers a tool". */
function copied(item: unknown): { readonly value: unknown } | { readonly flaw: string } {
  try {
    const parsed = parseOutsideJson(JSON.stringify(item) ?? "null");
    return parsed.ok ? { value: parsed.value } : { flaw: `${nameOf(item)}that ${parsed.error.message}` };
  } catch {
    return { flaw: `${nameOf(item)}that cannot be written as JSON` }; // members that throw, cycles, no end of depth
  }
}

/** With a blank behind it; "" for none. */
function nameOf(item: unknown): string {
  try {
    const { name } = item as { readonly name?: unknown };
    return typeof name === "string" ? `${JSON.stringify(preview(name, 40))} ` : "";
  } catch {
    return "";
  }
}

function toSchema(item: unknown): ToolSchema | undefined {
  if (!isRecord(item) || typeof item.name !== "string" || item.name === "") return undefined;
  return {
    name: item.name,
    description: typeof item.description === "string" ? item.description : "",
    parameters: isRecord(item.parameters) ? item.parameters : { type: "object", properties: {} },
  };
}
