// `context_length_cache.yaml`: context windows that servers reported or stated in an error, shared with the Python edition. Only a
// cache: a file that cannot be read counts as empty, but it is not overwritten.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { updateTextFile } from "@hermes-memory/core/internal/config";
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";
import { asRecord, isPlausibleWindow } from "../json-fields.ts";

export type CacheKey = { readonly model: string; readonly provider: string; readonly baseUrl: string };

const SECTION = "context_lengths";

export function windowCachePath(home: string): string {
  return join(home, "context_length_cache.yaml");
}

export async function cachedWindow(home: string, key: CacheKey): Promise<number | undefined> {
  if (!isCacheable(key)) return undefined;
  const { parse } = await import("yaml");
  try {
    const entries = asRecord(asRecord(parse(readFileSync(windowCachePath(home), "utf8")))[SECTION]);
    const written = `${key.model}@${key.baseUrl}`; // another program may have kept the address as the user wrote it
    const found = [entryName(key), written, `${entryName(key)}/`].find((name) =>
      Object.hasOwn(entries, name),
    );
    const tokens = found === undefined ? undefined : entries[found];
    return isPlausibleWindow(tokens) && !isStale(key, tokens) ? tokens : undefined;
  } catch {
    return undefined; // missing or unreadable: the server is asked again
  }
}

/** Stores a window that a server has confirmed. The error says why it was not stored; throws when the disk fails. */
export async function rememberWindow(
  home: string,
  key: CacheKey,
  tokens: number,
): Promise<Result<{ readonly changed: boolean }, string>> {
  if (!isCacheable(key) || !isPlausibleWindow(tokens)) return ok({ changed: false });
  const { parseDocument, isMap } = await import("yaml");
  const path = windowCachePath(home);
  return updateTextFile<{ readonly changed: boolean }, string>(path, {
    unreadable: ({ reason }) => `Cannot read ${path}: ${reason}.`,
    change: (text) => {
      const document = parseDocument(text ?? "", { logLevel: "error" });
      const section = document.get(SECTION, true);
      const isUsable = document.contents === null || isMap(document.contents);
      if (document.errors.length > 0 || !isUsable || (section !== undefined && !isMap(section)))
        return err(`${path} is damaged and was not changed. Delete it; it will be created again.`);
      const name = entryName(key);
      if (document.getIn([SECTION, name]) === tokens)
        return ok({ text: text ?? "", outcome: { changed: false } });
      document.setIn([SECTION, name], tokens);
      return ok({ text: document.toString({ lineWidth: 0 }), outcome: { changed: true } });
    },
  });
}

/** Not for LM Studio, whose window changes with every load, nor for Nous, which has its own lists. */
function isCacheable({ model, provider, baseUrl }: CacheKey): boolean {
  const isExempt = ["lmstudio", "lm-studio", "nous"].includes(provider.toLowerCase());
  return model !== "" && (baseUrl !== "" || provider !== "") && !isExempt && !/nousresearch/i.test(baseUrl);
}

/** True for windows that older versions are known to have stored wrongly. */
function isStale({ model, provider, baseUrl }: CacheKey, tokens: number): boolean {
  const name = model.toLowerCase();
  const isCodex = provider.toLowerCase() === "openai-codex" || /\/codex\b/i.test(baseUrl);
  if (isCodex) return tokens >= 400_000;
  if (name.includes("kimi")) return tokens <= 32_768;
  if (name.includes("minimax-m3")) return tokens <= 204_800;
  return name.includes("grok-4.3") && tokens <= 256_000;
}

/** Without an address in config, the provider's name takes its place. */
function entryName({ model, provider, baseUrl }: CacheKey): string {
  const address = baseUrl.trim().replace(/\/+$/, "");
  return `${withoutProvider(model.trim())}@${address === "" ? provider.toLowerCase() : address}`;
}

// Model names with a provider: `anthropic:claude-sonnet-4` has one, `deepseek:7b` is a single name with Ollama's tag

const PROVIDER_PREFIXES: readonly string[] = (
  "alibaba anthropic azure bedrock copilot custom deepseek gemini github google groq huggingface kimi lmstudio local minimax " +
  "mistral moonshot nous novita nvidia ollama openai openai-codex opencode openrouter qwen together vllm x-ai xai xiaomi z-ai zai"
).split(" ");

/** Sizes, quantisations and the like after the colon of an Ollama name. */
const TAG =
  /^(?:latest|stable|cloud|\d+(?:\.\d+)?[bmk]|[qf]p?\d|e\d+b|instruct|chat|coder|vision|text|mini|small)/;

export function withoutProvider(model: string): string {
  const colon = model.indexOf(":");
  if (colon < 0) return model;
  const rest = model.slice(colon + 1);
  const isProvider = PROVIDER_PREFIXES.includes(model.slice(0, colon).trim().toLowerCase());
  return isProvider && rest.trim() !== "" && !TAG.test(rest.trim().toLowerCase()) ? rest.trim() : model;
}
