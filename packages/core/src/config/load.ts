// Loads config.yaml, and opens `hermes config get|set|unset|check`. A missing file means the defaults. The YAML library is
// imported only when a file is more than the quick reader below understands, or is edited.
import { ok, type Result } from "../lib/index.ts";
import type { CheckOptions, ConfigChange, ConfigCheck, ConfigValue } from "./edit-values.ts";
import { type HermesConfig, KEYS, type MemoryConfig } from "./keys.ts";
import {
  type ConfigError,
  configPath,
  DEFAULT_MEMORY_CONFIG,
  type RawConfig,
  readConfig,
  readConfigText,
  readMemoryConfig,
} from "./read.ts";

/** A server asks at every step of a turn: the same text gives the same settings. */
let lastRead: { readonly text: string; readonly config: MemoryConfig } | undefined;

/** Reads the `memory:` section only, so that a mistake in another section does not stop memory commands. */
export async function loadMemoryConfig(home: string): Promise<Result<MemoryConfig, ConfigError>> {
  const text = readConfigText(home);
  if (!text.ok) return text;
  if (text.value === undefined) return ok(DEFAULT_MEMORY_CONFIG);
  if (text.value === lastRead?.text) return ok(lastRead.config);
  const quick = quickReadMemoryConfig(text.value);
  const read =
    quick === undefined
      ? (await import("./yaml-file.ts")).fullRead(text.value, configPath(home), readMemoryConfig)
      : ok(quick);
  if (read.ok) lastRead = { text: text.value, config: read.value };
  return read;
}

/** Reads config.yaml of a home. A missing file gives the defaults. */
export async function loadConfig(home: string): Promise<Result<HermesConfig, ConfigError>> {
  const text = readConfigText(home);
  if (!text.ok) return text;
  const { fullRead } = await import("./yaml-file.ts");
  return fullRead(text.value ?? "", configPath(home), readConfig);
}

/** The value in the file, or else the default; `source` says which. */
export async function getConfigValue(
  home: string,
  dottedKey: string,
): Promise<Result<ConfigValue, ConfigError>> {
  const { getValue } = await import("./edit-values.ts");
  return getValue(home, dottedKey);
}

/** `text` is a YAML scalar or flow value. Writes nothing if the config would become invalid. */
export async function setConfigValue(
  home: string,
  dottedKey: string,
  text: string,
): Promise<Result<ConfigChange, ConfigError>> {
  const { setValue } = await import("./edit-values.ts");
  return setValue(home, dottedKey, text);
}

export async function unsetConfigValue(
  home: string,
  dottedKey: string,
): Promise<Result<ConfigChange, ConfigError>> {
  const { unsetValue } = await import("./edit-values.ts");
  return unsetValue(home, dottedKey);
}

export async function checkConfig(home: string, options: CheckOptions = {}): Promise<ConfigCheck> {
  const { checkValues } = await import("./edit-values.ts");
  return checkValues(home, options);
}

// ---- The quick reader ----
// Loading a YAML library takes 16 ms, a third of `hermes memory show` and of every hook. So the settings in an ordinary file are read
// without one: block mappings and lists, one-line scalars and comments. Anything else is `NotPlain` and left to the library: this
// reader may give up, but must never read a value differently.

class NotPlain extends Error {}

/** A value that YAML versions may read differently. It matters only where a setting of ours has it. */
const UNCLEAR = Symbol("unclear");

type Line = { readonly indent: number; readonly text: string };

// Tabs, other control characters, and characters that some YAML versions read as line ends or byte order marks.
const SUSPICIOUS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/;
const KEY_VALUE = /^([A-Za-z_][A-Za-z0-9_./-]{0,99}):(?: +(.*))?$/;
const WORD_START = /^[A-Za-z0-9_./~$+<=(^;]|^-[A-Za-z0-9_./]/;
/** Words that YAML 1.1 or 1.2 does not read as text. */
const TYPED_WORD = /^(true|false|yes|no|on|off|y|n|null|~|\.inf|\.nan)$/i;
/** Keys that YAML does not read as text: `true` and `True` would be the same key twice. */
const TYPED_KEY = /^(true|false|null)$/i;
const FLOW_WORD = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
const QUOTED = /^(?:"([^"\\]*)"|'([^']*)')$/;
const MAX_DEPTH = 40;

/** Exactly what the full loader would return, or undefined when the file needs the full loader. */
export function quickReadMemoryConfig(text: string): MemoryConfig | undefined {
  const unixText = text.includes("\r") ? text.replace(/\r\n/g, "\n") : text;
  if (SUSPICIOUS.test(unixText)) return undefined;
  try {
    const file = readPlainYaml(unixText) ?? new Map();
    const section: unknown = file instanceof Map ? (file.get("memory") ?? new Map()) : UNCLEAR;
    if (!(section instanceof Map)) return undefined;
    const { config, findings } = readMemoryConfig({ memory: knownValues(section) });
    return findings.length === 0 ? config : undefined;
  } catch (cause) {
    if (cause instanceof NotPlain) return undefined;
    throw cause;
  }
}

/** Only known keys: those of other programs may hold any YAML. */
function knownValues(section: ReadonlyMap<string, unknown>): RawConfig {
  const values: Record<string, unknown> = {};
  for (const [name, node] of Object.entries(KEYS.fields.memory.fields)) {
    const value = section.get(name);
    if (value === undefined || (node.node !== "key" && node.renamed === undefined)) continue;
    const parts: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (parts.some((part) => part === UNCLEAR || part === null || typeof part === "object"))
      throw new NotPlain();
    values[name] = value;
  }
  return values;
}

/** Mappings become maps, lists arrays, and no value null. */
function readPlainYaml(text: string): unknown {
  const lines: Line[] = [];
  for (const raw of text.split("\n")) {
    const content = raw.replace(/^ +/, "");
    if (content === "" || content.startsWith("#")) continue;
    lines.push({ indent: raw.length - content.length, text: content.replace(/ +$/, "") });
  }
  let next = 0;
  if (lines[0] === undefined) return null;
  if (lines[0].indent !== 0) throw new NotPlain();
  const value = block(0, 0);
  if (next < lines.length) throw new NotPlain();
  return value;

  function isItem(): boolean {
    return lines[next]?.text.startsWith("- ") === true;
  }

  function block(indent: number, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new NotPlain();
    return isItem() ? list(indent, depth) : map(indent, depth);
  }

  function map(indent: number, depth: number): ReadonlyMap<string, unknown> {
    const entries = new Map<string, unknown>();
    // An item belongs to the list that this mapping is in.
    for (let line = lines[next]; line?.indent === indent && !isItem(); line = lines[next]) {
      const [, key, inline = ""] = KEY_VALUE.exec(line.text) ?? [];
      if (key === undefined || TYPED_KEY.test(key) || entries.has(key)) throw new NotPlain();
      next += 1;
      const isEmpty = inline === "" || inline.startsWith("#");
      entries.set(key, isEmpty ? nested(indent, depth) : oneLine(inline, indent));
    }
    return entries;
  }

  /** The value of a key without one on its line. A list may start in the same column as its key. */
  function nested(indent: number, depth: number): unknown {
    const line = lines[next];
    if (line !== undefined && line.indent > indent) return block(line.indent, depth + 1);
    return line?.indent === indent && isItem() ? list(indent, depth + 1) : null;
  }

  function list(indent: number, depth: number): readonly unknown[] {
    const items: unknown[] = [];
    for (let line = lines[next]; line?.indent === indent && isItem(); line = lines[next]) {
      const content = line.text.slice(1).replace(/^ +/, "");
      if (KEY_VALUE.test(content)) {
        const column = indent + line.text.length - content.length;
        lines[next] = { indent: column, text: content };
        items.push(map(column, depth + 1));
      } else {
        next += 1;
        items.push(oneLine(content, indent));
      }
    }
    return items;
  }

  function oneLine(inline: string, indent: number): unknown {
    const following = lines[next];
    if (following !== undefined && following.indent > indent) throw new NotPlain(); // a scalar over several lines
    return readInline(inline);
  }
}

function readInline(text: string): unknown {
  const [, content = text] = /^("[^"\\]*"|'[^']*'|\[[^[\]{}#]*\])(?: +#.*)?$/.exec(text) ?? [];
  const quoted = QUOTED.exec(content);
  if (quoted) return quoted[1] ?? quoted[2] ?? "";
  if (content.startsWith("[")) return /^\[ *\]$/.test(content) ? [] : flowItems(content);
  const plain = text.replace(/ +#.*$/, "");
  if (plain === "{}") return new Map();
  if (!WORD_START.test(plain) || /:( |$)/.test(plain)) throw new NotPlain();
  if (plain === "true" || plain === "false") return plain === "true";
  // Nine digits at most and no leading zero: the same number in every YAML version.
  if (/^(0|[1-9][0-9]{0,8})$/.test(plain)) return Number(plain);
  return isPlainWord(plain) ? plain : UNCLEAR;
}

function flowItems(list: string): readonly string[] {
  if (!list.endsWith("]")) throw new NotPlain();
  return list
    .slice(1, -1)
    .split(",")
    .map((part) => {
      const item = part.replace(/^ +| +$/g, "");
      const quoted = QUOTED.exec(item);
      if (quoted) return quoted[1] ?? quoted[2] ?? "";
      if (!isPlainWord(item)) throw new NotPlain();
      return item;
    });
}

/** A word that every YAML version reads as text. */
function isPlainWord(text: string): boolean {
  return FLOW_WORD.test(text) && !TYPED_WORD.test(text);
}
