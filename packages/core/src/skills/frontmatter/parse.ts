// Frontmatter as a mapping: strictly for what is written, forgiving for what is read.
import { describeCause, err, ok, pyStrip, type Result } from "../../lib/index.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** The mapping, or why there is none. */
export type FrontmatterParser = (yaml: string) => Result<Fields, string>;

/** The YAML library is loaded when the first frontmatter has to be read. */
export async function loadFrontmatterParser(): Promise<FrontmatterParser> {
  const { parseDocument } = await import("yaml");
  return (yaml) => {
    try {
      // Of a key given twice the last counts, and merge keys work, as in Python.
      const document = parseDocument(yaml, { merge: true, uniqueKeys: false, logLevel: "error" });
      const [mistake] = document.errors;
      if (mistake) return err(firstLine(mistake.message));
      const content: unknown = document.toJS();
      return isFields(content) ? ok(content) : err("it does not hold keys and values");
    } catch (cause) {
      return err(firstLine(describeCause(cause))); // such as aliases without end
    }
  };
}

/** Broken YAML still has lines that say `key: value`. Only those that are not indented: others belong to a section. */
export function parseLines(yaml: string): Fields {
  const fields: Record<string, unknown> = Object.create(null);
  for (const line of yaml.split("\n")) {
    const match = /^([A-Za-z_][\w-]*)[ \t]*:(.*)$/.exec(line);
    if (match?.[1] === undefined) continue;
    const value = unquoted(pyStrip(match[2] ?? ""));
    if (value !== "") fields[match[1]] = value;
  }
  return fields;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own field: names such as `constructor` are nobody's. */
export function fieldOf(fields: unknown, name: string): unknown {
  return isFields(fields) && Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function unquoted(text: string): string {
  const quoted = /^(["'])(.*)\1$/.exec(text);
  return quoted?.[2] ?? text;
}

/** The library's messages go on with an excerpt of the text. */
function firstLine(message: string): string {
  return (message.split("\n")[0] ?? "").replace(/:$/, "");
}
