// TOML settings of other programs: the package checks a text, and tells where each statement of a valid one ends.
import { isRecord } from "@hermes-memory/core/internal/lib";
import { parse, TomlError } from "smol-toml";
import { EditError, newlineOf, shapeError, type TextRange } from "./config-edit.ts";

/** In front of every block that we write. It has no end mark: Codex puts new tables before the last comment of a file. */
export const MARK = "# Written by 'hermes mcp install'; 'hermes mcp uninstall' removes it.";

export type TomlData = Readonly<Record<string, unknown>>;

/** Whole lines. Several for a value over several lines. */
export type TomlPair = TextRange & { readonly text: string; readonly data: TomlData };

/** The first one is the root, without header. */
export type TomlTable = {
  readonly path: readonly string[];
  readonly isInArray: boolean;
  /** Of its mark or its header. */
  readonly start: number;
  /** Behind the header. */
  readonly inside: number;
  readonly pairs: readonly TomlPair[];
};

export function parseToml(text: string): TomlData {
  try {
    return structuredClone(parse(text, { integersAsBigInt: true }));
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const { line, column, message } = cause;
    const [reason = ""] = message.replace("Invalid TOML document: ", "").split("\n");
    throw new EditError({ kind: "syntax", line, column, reason });
  }
}

/** Of a valid text. A statement is the fewest lines that are valid alone. */
export function tablesOf(text: string): readonly TomlTable[] {
  let start = text.startsWith("\ufeff") ? 1 : 0;
  let end = start;
  let mark: number | undefined;
  let pairs: TomlPair[] = [];
  const tables: TomlTable[] = [{ path: [], isInArray: false, start, inside: start, pairs }];
  for (const line of text.slice(start).split(/(?<=\n)/)) {
    end += line.length;
    const statement = text.slice(start, end);
    const data = statementData(statement);
    if (data === undefined) continue;
    if (/^[ \t]*\[/.test(statement)) {
      pairs = [];
      tables.push({ ...headerOf(data), start: mark ?? start, inside: end, pairs });
    } else if (Object.keys(data).length > 0) pairs.push({ start, end, text: statement, data });
    mark = statement.trim() === MARK ? start : undefined;
    start = end;
  }
  return tables;
}

function statementData(text: string): TomlData | undefined {
  try {
    return parse(text, { integersAsBigInt: true });
  } catch {
    return undefined;
  }
}

/** `[a.b]` alone is `{ a: { b: {} } }`, and `[[a.b]]` is `{ a: { b: [{}] } }`. */
function headerOf(data: TomlData): { readonly path: readonly string[]; readonly isInArray: boolean } {
  const [found] = Object.entries(data);
  if (!found) return { path: [], isInArray: false };
  const [key, below] = found;
  if (!isRecord(below)) return { path: [key], isInArray: true };
  const { path, isInArray } = headerOf(below);
  return { path: [key, ...path], isInArray };
}

/** A file without a last line end gets a block without one, by which `withoutTables` knows it. */
export function withBlock(text: string, block: string): string {
  if (text === "" || text === "\ufeff") return text + block;
  const newline = newlineOf(text);
  return text.endsWith("\n") ? `${text}${newline}${block}` : `${text}${newline}${newline}${block.trimEnd()}`;
}

/** Also without the blank line in front of each. A comment behind a table stays: it belongs to the next one. */
export function withoutTables(text: string, tables: readonly TomlTable[]): string {
  return tables.reduceRight((now, { start, inside, pairs }) => {
    const end = pairs.at(-1)?.end ?? inside;
    const before = now.slice(0, start).replace(/(^|\n)\r?\n$/, "$1");
    const hasLineEnd = now[end - 1] === "\n";
    return hasLineEnd ? before + now.slice(end) : before.replace(/\r?\n$/, "");
  }, text);
}

/** A text on one line. */
export const STRING = String.raw`(?:"(?!"")(?:[^"\\\n]|\\.)*"|'(?!'')[^'\n]*')`;
const VALUE = new RegExp(String.raw`^([^=]*=\s*)(?:${STRING}|\[(?:${STRING}|#.*|[^\]"'#])*\])`);

/** A pair with another text or list of texts. Comments stay; those inside a list only while it keeps its length. */
export function withPairValue({ text, data }: TomlPair, key: string, value: unknown): string {
  if (!VALUE.test(text)) throw shapeError(`it writes '${key}' in a way that this command cannot change`);
  const old = data[key];
  if (!Array.isArray(old) || !Array.isArray(value) || old.length !== value.length)
    return text.replace(VALUE, (_all, lead: string) => lead + tomlValue(value));
  let at = -1;
  return text.replace(new RegExp(`#.*|${STRING}`, "g"), (part) => {
    if (!part.startsWith("#")) at += 1;
    return part.startsWith("#") || old[at] === value[at] ? part : tomlValue(value[at]);
  });
}

/** A text, or a list of texts. TOML has the escapes of JSON, and requires DEL to be escaped as well. */
export function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  return JSON.stringify(String(value).toWellFormed()).replaceAll("\u007f", "\\u007f");
}
