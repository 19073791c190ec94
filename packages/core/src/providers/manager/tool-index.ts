// Which provider answers which tool. Built anew after initialisation, because a provider chooses its tools there.
import { foldName, parseOutsideJson, preview } from "../../lib/index.ts";
import { scanThreats } from "../../security/index.ts";
import type { ToolSchema } from "../contract.ts";
import type { Registered } from "./registered.ts";

export type ToolOffer = { readonly registered: Registered; readonly schemas: readonly ToolSchema[] };

export type ToolIndex = {
  readonly schemas: readonly ToolSchema[];
  readonly owners: ReadonlyMap<string, Registered>;
  /** What was not taken, and why. */
  readonly refusals: readonly ToolRefusal[];
};

type ToolRefusal = { readonly provider: string; readonly tool: string; readonly message: string };

export function indexTools(offers: readonly ToolOffer[], coreNames: ReadonlySet<string>): ToolIndex {
  const schemas: ToolSchema[] = [];
  const owners = new Map<string, Registered>();
  const refusals: ToolRefusal[] = [];
  // By what a reader takes a name for: `Memory` and `skill-manage` would pass for the agent's own.
  const core = new Map([...coreNames].map((name) => [foldName(name), name]));
  const taken = new Map<string, { readonly name: string; readonly owner: Registered }>();
  for (const { registered, schemas: offered } of offers) {
    const provider = registered.name;
    for (const schema of offered) {
      const { name } = schema;
      const folded = foldName(name);
      const own = core.get(folded);
      const other = taken.get(folded);
      const flaw = flawOf(schema);
      const refuse = (why: string): void => {
        refusals.push({ provider, tool: name, message: `The memory provider '${provider}' offers ${why}` });
      };
      if (flaw !== undefined) refuse(`a tool ${flaw}. It is left out.`);
      else if (own !== undefined)
        refuse(
          own === name
            ? `a tool named '${name}', which belongs to the agent. It is left out.`
            : `a tool named '${name}', which reads like '${own}' of the agent. It is left out.`,
        );
      else if (other !== undefined)
        refuse(
          other.name === name
            ? `the tool '${name}', which '${other.owner.name}' already has. The first one keeps it.`
            : `the tool '${name}', which reads like '${other.name}' of '${other.owner.name}'. It is left out.`,
        );
      else {
        owners.set(name, registered);
        taken.set(folded, { name, owner: registered });
        schemas.push(schema);
      }
    }
  }
  return { schemas, owners, refusals };
}

/** What model APIs take; one name outside makes them refuse the whole request. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Long schemas have some thousand. One of this size would crowd out the conversation. */
const MAX_SCHEMA_CHARS = 30_000;

/** A schema goes into every request word for word, so it is looked at like any other text of a provider. */
function flawOf(schema: ToolSchema): string | undefined {
  if (!TOOL_NAME.test(schema.name))
    return `named ${JSON.stringify(preview(schema.name, 40))}; use up to 64 letters, digits, '_' and '-'`;
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS)
    return `'${schema.name}' whose schema has more than ${MAX_SCHEMA_CHARS} characters`;
  // Its texts, not its JSON: there a line break is two characters that no pattern takes for a blank.
  const [finding] = scanThreats(textsIn(schema).join("\n"), "context");
  return finding && `'${schema.name}' whose schema matches the threat pattern '${finding.id}'`;
}

/** Keys included: a model reads them too. */
function textsIn(schema: ToolSchema): readonly string[] {
  const texts: string[] = [];
  const waiting: unknown[] = [schema]; // no recursion: a plugin decides how deep it goes
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

export type ReadSchemas = {
  readonly schemas: readonly ToolSchema[];
  /** Reads on after the provider's name. */
  readonly problem?: string;
};

/**
 * What is usable of a plugin's answer: named objects, copied as JSON, because that is how they go into every request of the agent.
 * What cannot be copied would make all of them fail. A missing description or parameter list is made up for.
 */
export function readToolSchemas(answer: unknown): ReadSchemas {
  const schemas: ToolSchema[] = [];
  let unreadable = 0;
  try {
    if (!Array.isArray(answer)) return { schemas, problem: "lists its tools as something that is no list" };
    for (const item of [...answer]) {
      const plain = asPlainObject(item);
      if (plain === "unreadable") unreadable += 1;
      else if (plain && typeof plain.name === "string" && plain.name !== "")
        schemas.push(complete(plain.name, plain));
    }
  } catch {
    return { schemas: [], problem: "has a list of tools that cannot be read" };
  }
  return unreadable === 0
    ? { schemas }
    : { schemas, problem: `offers ${unreadable} tool(s) that are no JSON or nested too deep` };
}

function asPlainObject(item: unknown): Readonly<Record<string, unknown>> | "unreadable" | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  try {
    const parsed = parseOutsideJson(JSON.stringify(item) ?? "null");
    if (!parsed.ok) return "unreadable"; // deeper than any request can take
    const plain = parsed.value;
    return typeof plain === "object" && plain !== null ? (plain as Record<string, unknown>) : undefined;
  } catch {
    return "unreadable"; // members that throw, cycles
  }
}

function complete(name: string, plain: Readonly<Record<string, unknown>>): ToolSchema {
  const { description, parameters } = plain;
  return {
    ...plain,
    name,
    description: typeof description === "string" ? description : "",
    parameters:
      typeof parameters === "object" && parameters !== null
        ? (parameters as ToolSchema["parameters"])
        : { type: "object", properties: {} },
  };
}
