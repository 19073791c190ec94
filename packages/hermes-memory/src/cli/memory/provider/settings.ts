// How the active provider is set up, as far as files of the home tell, without anything that looks like a secret.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "@hermes-memory/core/lib";
import { ifUsable, type Memory } from "@hermes-memory/core/memory";
import { redactSecrets } from "@hermes-memory/core/security";

export type Settings = Readonly<Record<string, unknown>>;

const SECRET_NAME = /(key|token|secret|password|passwd|passphrase|credentials?|auth)$/i;
// `api_keys`, `auth_header`, `token_2`: in doubt hidden. But `recall_max_tokens` is a number of tokens, not one.
const SECRET_WORD =
  /key(?!word)|token(?!iz)|secret|passw|passphrase|pwd|credential|auth(?!or)|authoriz|cookie|bearer/i;
const HIDDEN = "[hidden]";

/** From `memory.<name>` of config.yaml and `<name>.json`, the file going first; then what the provider itself told. */
export async function settingsOf(memory: Memory, name: string, told: Settings = {}): Promise<Settings> {
  const section = await providerSection(memory, name);
  return presentable({ ...section, ...readJson(join(memory.home, `${name}.json`)), ...told });
}

/** `memory.<name>` of config.yaml; empty when the file cannot be used. */
export async function providerSection(memory: Memory, name: string): Promise<Settings> {
  return recordAt((await ifUsable(memory.config()))?.raw.memory, name);
}

/** The same without secrets, at any depth. */
function presentable(settings: Settings): Settings {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key, isSecret(key, value) ? HIDDEN : without(value)]),
  );
}

function isSecret(key: string, value: unknown): boolean {
  const isCount = typeof value === "number" || typeof value === "boolean";
  return (isCount ? SECRET_NAME : SECRET_WORD).test(key);
}

function without(value: unknown): unknown {
  if (typeof value === "string") return redactSecrets(value);
  if (Array.isArray(value)) return value.map(without);
  return isRecord(value) ? presentable(value) : value;
}

function recordAt(holder: unknown, key: string): Settings {
  const value = isRecord(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
  return isRecord(value) ? value : {};
}

function readJson(path: string): Settings {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
    return isRecord(value) ? value : {};
  } catch {
    return {}; // not there, or not ours to understand
  }
}
