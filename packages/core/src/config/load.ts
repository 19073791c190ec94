// Loading config.yaml. A missing file means the defaults. The YAML library is imported only when the quick reader cannot vouch for
// the file.
import { ok, type Result } from "../lib/index.ts";
import { type ConfigError, configPath, readConfigText } from "./config-file.ts";
import { type HermesConfig, KEYS, type MemoryConfig } from "./keys.ts";
import { isPlainWord, type PlainValue, readPlainYaml } from "./plain-yaml.ts";
import { DEFAULT_MEMORY_CONFIG, readMemoryConfig } from "./read.ts";

/** Looks at the `memory:` section only: a mistake in another section does not stop memory from working. */
export async function loadMemoryConfig(home: string): Promise<Result<MemoryConfig, ConfigError>> {
  const text = readConfigText(home);
  if (!text.ok) return text;
  if (text.value === undefined) return ok(DEFAULT_MEMORY_CONFIG);
  const quick = quickReadMemoryConfig(text.value);
  if (quick !== undefined) return ok(quick);
  const { fullReadMemoryConfig } = await import("./full-read.ts");
  return fullReadMemoryConfig(text.value, configPath(home));
}

export async function loadConfig(home: string): Promise<Result<HermesConfig, ConfigError>> {
  const text = readConfigText(home);
  if (!text.ok) return text;
  const { fullReadConfig } = await import("./full-read.ts");
  return fullReadConfig(text.value ?? "", configPath(home));
}

class Unclear extends Error {}

/**
 * The memory settings of an ordinary config.yaml, without a YAML library. `undefined` means "load it properly": this reader either says
 * exactly what the full loader would say, or nothing.
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

/** Keys of other programs may hold anything, so only known ones are looked at. */
function knownValues(section: ReadonlyMap<string, PlainValue>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, node] of Object.entries(KEYS.fields.memory.fields)) {
    const value = section.get(name);
    if (value !== undefined && (node.node === "key" || node.renamed !== undefined))
      values[name] = toValue(value);
  }
  return values;
}

/** The value that every YAML version reads there. */
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
