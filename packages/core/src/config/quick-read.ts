// Reads the memory settings of an ordinary config.yaml without a YAML library, because loading one takes longer than
// `hermes memory show`. It understands block mappings and lists, one-line scalars and comments. For anything else it returns
// undefined, and the caller loads the YAML library: this reader may give up, but must never read a value differently.
import { KEYS, type MemoryConfig } from "./keys.ts";
import { DEFAULT_MEMORY_CONFIG, readMemoryConfig } from "./read.ts";

type PlainValue =
  | { readonly kind: "null" }
  | { readonly kind: "plain" | "quoted"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly PlainValue[] }
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, PlainValue> };

type Line = { readonly indent: number; readonly text: string };

class NotPlain extends Error {}

// Tabs, other control characters, and characters that some YAML versions read as line ends or byte order marks.
const SUSPICIOUS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/;
const KEY_VALUE = /^([A-Za-z_][A-Za-z0-9_./-]{0,99}):(?: +(.*))?$/;
const WORD_START = /^[A-Za-z0-9_./~$+<=(^;]|^-[A-Za-z0-9_./]/;
/** Words that YAML 1.1 or 1.2 does not read as text. */
const TYPED_WORD = /^(true|false|yes|no|on|off|y|n|null|~|\.inf|\.nan)$/i;
/** Keys that YAML does not read as text: `true` and `True` would be the same key twice. */
const TYPED_KEY = /^(true|false|null)$/i;
const FLOW_WORD = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
const MAX_DEPTH = 40;

function readPlainYaml(text: string): PlainValue | undefined {
  const unixText = text.includes("\r") ? text.replace(/\r\n/g, "\n") : text;
  if (SUSPICIOUS.test(unixText)) return undefined;
  try {
    const reader = new PlainReader(splitLines(unixText));
    return reader.document();
  } catch (cause) {
    if (cause instanceof NotPlain) return undefined;
    throw cause;
  }
}

/** A word that every YAML version reads as text. */
function isPlainWord(text: string): boolean {
  return FLOW_WORD.test(text) && !TYPED_WORD.test(text);
}

function splitLines(text: string): Line[] {
  const lines: Line[] = [];
  for (const raw of text.split("\n")) {
    const content = raw.replace(/^ +/, "");
    if (content === "" || content.startsWith("#")) continue;
    lines.push({ indent: raw.length - content.length, text: content.replace(/ +$/, "") });
  }
  return lines;
}

class PlainReader {
  readonly #lines: Line[];
  #next = 0;

  constructor(lines: Line[]) {
    this.#lines = lines;
  }

  document(): PlainValue {
    const first = this.#lines[0];
    if (first === undefined) return { kind: "null" };
    if (first.indent !== 0) throw new NotPlain();
    const value = this.#block(0, 0);
    if (this.#next < this.#lines.length) throw new NotPlain();
    return value;
  }

  #block(indent: number, depth: number): PlainValue {
    if (depth > MAX_DEPTH) throw new NotPlain();
    return this.#lines[this.#next]?.text.startsWith("- ")
      ? this.#list(indent, depth)
      : this.#map(indent, depth);
  }

  #map(indent: number, depth: number): PlainValue {
    const entries = new Map<string, PlainValue>();
    for (let line = this.#lines[this.#next]; line?.indent === indent; line = this.#lines[this.#next]) {
      if (line.text.startsWith("- ")) break; // the next item of the list that this mapping belongs to
      const match = KEY_VALUE.exec(line.text);
      const key = match?.[1];
      if (key === undefined || TYPED_KEY.test(key) || entries.has(key)) throw new NotPlain();
      this.#next += 1;
      const inline = match?.[2] ?? "";
      const isEmpty = inline === "" || inline.startsWith("#");
      entries.set(key, isEmpty ? this.#nested(indent, depth) : this.#oneLine(inline, indent));
    }
    return { kind: "map", entries };
  }

  /** The value of a key without one on its line. A list may start in the same column as its key. */
  #nested(indent: number, depth: number): PlainValue {
    const line = this.#lines[this.#next];
    if (line === undefined) return { kind: "null" };
    if (line.indent > indent) return this.#block(line.indent, depth + 1);
    if (line.indent === indent && line.text.startsWith("- ")) return this.#list(indent, depth + 1);
    return { kind: "null" };
  }

  #list(indent: number, depth: number): PlainValue {
    const items: PlainValue[] = [];
    for (let line = this.#lines[this.#next]; line?.indent === indent; line = this.#lines[this.#next]) {
      if (!line.text.startsWith("- ")) break;
      const content = line.text.slice(1).replace(/^ +/, "");
      if (KEY_VALUE.test(content)) {
        const column = indent + line.text.length - content.length;
        this.#lines[this.#next] = { indent: column, text: content };
        items.push(this.#map(column, depth + 1));
      } else {
        this.#next += 1;
        items.push(this.#oneLine(content, indent));
      }
    }
    return { kind: "list", items };
  }

  #oneLine(text: string, indent: number): PlainValue {
    const following = this.#lines[this.#next];
    if (following !== undefined && following.indent > indent) throw new NotPlain(); // a scalar over several lines
    return readInline(text);
  }
}

function readInline(text: string): PlainValue {
  const quoted = /^(?:"([^"\\]*)"|'([^']*)')(?: +#.*)?$/.exec(text);
  if (quoted) return { kind: "quoted", text: quoted[1] ?? quoted[2] ?? "" };
  const flow = /^\[([^[\]{}#]*)\](?: +#.*)?$/.exec(text);
  if (flow) return { kind: "list", items: flowItems(flow[1] ?? "") };
  const comment = text.search(/ +#/);
  const plain = comment === -1 ? text : text.slice(0, comment);
  if (plain === "{}") return { kind: "map", entries: new Map() };
  if (!WORD_START.test(plain) || /:( |$)/.test(plain)) throw new NotPlain();
  return { kind: "plain", text: plain };
}

function flowItems(text: string): PlainValue[] {
  if (/^ *$/.test(text)) return [];
  return text.split(",").map((part) => {
    const item = part.replace(/^ +| +$/g, "");
    const quoted = /^(?:"([^"\\]*)"|'([^']*)')$/.exec(item);
    if (quoted) return { kind: "quoted", text: quoted[1] ?? quoted[2] ?? "" };
    if (!isPlainWord(item)) throw new NotPlain();
    return { kind: "plain", text: item };
  });
}

class Unclear extends Error {}

/**
 * Returns exactly what the full loader would return, or undefined when the file needs the full loader.
 */
export function quickReadMemoryConfig(text: string): MemoryConfig | undefined {
  const document = readPlainYaml(text);
  if (document === undefined) return undefined;
  if (document.kind === "null") return DEFAULT_MEMORY_CONFIG;
  if (document.kind !== "map") return undefined;
  const section = document.entries.get("memory");
  if (section === undefined || section.kind === "null") return DEFAULT_MEMORY_CONFIG;
  if (section.kind !== "map") return undefined;
  try {
    const { config, findings } = readMemoryConfig({ memory: knownValues(section.entries) });
    return findings.length === 0 ? config : undefined;
  } catch (cause) {
    if (cause instanceof Unclear) return undefined;
    throw cause;
  }
}

/** Only known keys: those of other programs may hold any YAML. */
function knownValues(section: ReadonlyMap<string, PlainValue>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, node] of Object.entries(KEYS.fields.memory.fields)) {
    const value = section.get(name);
    if (value !== undefined && (node.node === "key" || node.renamed !== undefined))
      values[name] = toValue(value);
  }
  return values;
}

/** The value, if every YAML version reads the same one. */
function toValue(value: PlainValue): unknown {
  if (value.kind === "quoted") return value.text;
  if (value.kind === "list") return value.items.map(toValue);
  if (value.kind !== "plain") throw new Unclear();
  if (value.text === "true" || value.text === "false") return value.text === "true";
  // Nine digits at most and no leading zero: the same number in every YAML version.
  if (/^(0|[1-9][0-9]{0,8})$/.test(value.text)) return Number(value.text);
  if (!isPlainWord(value.text)) throw new Unclear();
  return value.text;
}
