// Tools that others bring: plugins, MCP servers, the program around the agent. Their definitions go into every request word for
// word, so each is checked here like any other text from outside before it becomes an entry.
import { isRecord, outsideJsonProblem, parseOutsideJson, preview } from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import { foldName, ownNameLike, TOOL_NAME } from "./names.ts";
import type { ToolDefinition } from "./tool.ts";

export type ForeignTools = {
  readonly definitions: readonly ToolDefinition[];
  readonly refused: readonly RefusedTool[];
};

export type RefusedTool = {
  /** Undefined when it has none that can be read. */
  readonly name: string | undefined;
  /** A sentence that begins with `who`. */
  readonly remark: string;
};

/** Finds the agent's tool that a name could be taken for. */
type Reserved = (name: string) => string | undefined;

/** Long schemas have some thousand. One of this size would crowd out the conversation. */
const MAX_SCHEMA_CHARS = 30_000;

/** A plugin's answer to "which tools do you have". `who` is the plugin in words; `reserved` finds names it may not have. */
export function readForeignTools(
  answer: unknown,
  { who, reserved }: { readonly who: string; readonly reserved?: Reserved },
): ForeignTools {
  const items = itemsIn(answer);
  if (typeof items === "string")
    return { definitions: [], refused: [{ name: undefined, remark: `${who} ${items}.` }] };
  const taken = new Map<string, ToolDefinition>();
  const refused: RefusedTool[] = [];
  const refuse = (name: string | undefined, flaw: string): void => {
    refused.push({ name, remark: `${who} offers a tool ${flaw}. It is left out.` });
  };
  for (const item of items) {
    const copy = copied(item);
    const definition = "value" in copy ? readDefinition(copy.value) : undefined;
    if ("flaw" in copy) refuse(nameOf(item), copy.flaw);
    else if (definition === undefined) refuse(undefined, "without a name");
    else {
      const { name } = definition;
      const other = taken.get(foldName(name));
      const flaw = foreignFlaw(definition, { reserved }) ?? (other && mixUp(name, other.name));
      if (flaw === undefined) taken.set(foldName(name), definition);
      else refuse(name, flaw);
    }
  }
  return { definitions: [...taken.values()], refused };
}

export type ForeignCheck = {
  /** Default: the agent's own names. */
  readonly reserved?: Reserved | undefined;
  /** The words are the program's own: they are not searched for threats. */
  readonly isTrusted?: boolean;
};

/** Reads on after "offers a tool"; undefined when nothing is wrong with it. */
export function foreignFlaw(
  definition: ToolDefinition,
  { reserved = ownNameLike, isTrusted = false }: ForeignCheck = {},
): string | undefined {
  const { name } = definition;
  if (!TOOL_NAME.test(name))
    return `named ${JSON.stringify(preview(name, 40))}; use up to 64 letters, digits, '_' and '-'`;
  const problem = outsideJsonProblem(definition);
  if (problem !== undefined) return `'${name}' whose schema ${problem.message}`;
  const own = reserved(name);
  if (own !== undefined)
    return `named '${name}', which ${own === name ? "belongs to the agent" : `reads like '${own}' of the agent`}`;
  if (JSON.stringify(definition).length > MAX_SCHEMA_CHARS)
    return `'${name}' whose schema has more than ${MAX_SCHEMA_CHARS} characters`;
  if (isTrusted) return undefined;
  // Its texts, not its JSON: there a line break is two characters that no pattern takes for a blank.
  const [finding] = scanThreats(textsIn(definition).join("\n"), "context");
  return finding && `'${name}' whose schema matches the threat pattern '${finding.id}'`;
}

/** Keys included: a model reads them too. */
function textsIn(definition: ToolDefinition): readonly string[] {
  const texts: string[] = [];
  const waiting: unknown[] = [definition]; // no recursion: a stranger decides how deep it goes
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

function mixUp(name: string, other: string): string {
  return name === other ? `'${name}' twice` : `'${name}', which reads like '${other}' of its own`;
}

/** Else what is wrong with the list. */
function itemsIn(answer: unknown): readonly unknown[] | string {
  try {
    return Array.isArray(answer) ? [...answer] : "lists its tools as something that is no list";
  } catch {
    return "has a list of tools that cannot be read"; // members that throw
  }
}

/** As JSON, because that is how it goes into every request. A flaw reads on after "offers a tool". */
function copied(item: unknown): { readonly value: unknown } | { readonly flaw: string } {
  const name = nameOf(item);
  const shown = name === undefined ? "" : `'${preview(name, 40)}' `;
  try {
    const parsed = parseOutsideJson(JSON.stringify(item) ?? "null");
    return parsed.ok ? { value: parsed.value } : { flaw: `${shown}that ${parsed.error.message}` };
  } catch {
    return { flaw: `${shown}that cannot be written as JSON` }; // members that throw, cycles, no end of depth
  }
}

function nameOf(item: unknown): string | undefined {
  try {
    const { name } = bare(item) as { readonly name?: unknown };
    return typeof name === "string" && name !== "" ? name : undefined;
  } catch {
    return undefined;
  }
}

/** Chat APIs wrap a definition: `{ type: "function", function: { name, ... } }`. */
function bare(item: unknown): unknown {
  return isRecord(item) && item.name === undefined && isRecord(item.function) ? item.function : item;
}

/** A missing description or parameter list is made up for. */
function readDefinition(item: unknown): ToolDefinition | undefined {
  const plain = bare(item);
  if (!isRecord(plain) || typeof plain.name !== "string" || plain.name === "") return undefined;
  const { name, description, parameters } = plain;
  return {
    name,
    description: typeof description === "string" ? description : "",
    parameters: isRecord(parameters) ? parameters : { type: "object", properties: {} },
  };
}
