// Checks tools of plugins, MCP servers and the embedding program. Their definitions are sent to the model verbatim in every request,
// so each is checked like other text from outside before it is added to the table.
import { isRecord, outsideJsonProblem, preview } from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import { foldName, ownNameLike, TOOL_NAME } from "./names.ts";
import type { ToolDefinition } from "./tool.ts";

export type ForeignTools = {
  readonly definitions: readonly ToolDefinition[];
  readonly refused: readonly RefusedTool[];
};

type RefusedTool = {
  /** Undefined if it has no readable name. */
  readonly name: string | undefined;
  /** A sentence that begins with `who`. */
  readonly remark: string;
};

/** Returns the agent's tool that a name could be confused with. */
type Reserved = (name: string) => string | undefined;

/** Long schemas have some thousand characters. A larger one than this would take too much of the window. */
const MAX_SCHEMA_CHARS = 30_000;

/** Reads a plugin's list of tools. `who` names the plugin in remarks; `reserved` finds names that it may not use. */
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
    const definition = readDefinition(item);
    if (definition === undefined) refuse(undefined, "without a name");
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
  /** The definition comes from the embedding program, so it is not scanned for threats. */
  readonly isTrusted?: boolean;
};

/** The flaw, to print after "offers a tool"; undefined if there is none. */
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
  // Scan the texts, not the JSON: in JSON a line break is two characters, which no pattern matches as white space.
  const [finding] = scanThreats(textsIn(definition).join("\n"), "context");
  return finding && `'${name}' whose schema matches the threat pattern '${finding.id}'`;
}

/** Includes keys, because the model reads them too. */
function textsIn(definition: ToolDefinition): readonly string[] {
  const texts: string[] = [];
  const waiting: unknown[] = [definition]; // not recursive: the depth is not under our control
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

/** The items of a copy through JSON, which is how requests send them; or a sentence about what is wrong with the list. */
function itemsIn(answer: unknown): readonly unknown[] | string {
  if (!Array.isArray(answer)) return "returns something other than a list of tools";
  try {
    return JSON.parse(JSON.stringify(answer)); // the limits are checked for each tool
  } catch {
    return "has a list of tools that cannot be written as JSON"; // a getter threw, or a cycle
  }
}

/** Chat APIs wrap a definition: `{ type: "function", function: { name, ... } }`. */
function bare(item: unknown): unknown {
  return isRecord(item) && item.name === undefined && isRecord(item.function) ? item.function : item;
}

/** A missing description or parameter list gets an empty one. */
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
