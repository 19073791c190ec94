// How large a model's context window is. Config comes first. A server on this machine is always asked, because it may serve a
// smaller window than the model has and cut requests silently; a remote server is asked only if the user allows it. Then the
// cache, a table of well-known models and the catalogue of prices.
import type { CustomProvider, HermesConfig } from "@hermes-memory/core/internal/config";
import { isLoopback, parseBaseUrl } from "../base-url.ts";
import { findInCatalogue } from "../cost.ts";
import { isPlausibleWindow } from "../json-fields.ts";
import { askServer, type ServerKind } from "./ask-server.ts";
import { cachedWindow, rememberWindow, withoutProvider } from "./window-cache.ts";

/** The model whose window is wanted. */
export type WindowQuestion = {
  readonly model: string;
  readonly provider?: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
};

/** Who said how large the window is. `option`: the program that made the agent. */
export type WindowSource =
  | "option"
  | "config"
  | "custom_provider"
  | "server"
  | "cache"
  | "table"
  | "catalogue"
  | "default";

/** The size of a model's window, and who said so. */
export type ContextWindow = {
  readonly tokens: number;
  readonly source: WindowSource;
  /** Only with source `server`. */
  readonly server?: ServerKind;
  /** The server has not loaded the model yet and may then serve less: ask again after the first reply. */
  readonly isProvisional: boolean;
};

/** Where `resolveContextWindow` may look, and how long it waits. */
export type WindowOptions = {
  /** The home with the cache; absent: no cache. */
  readonly home?: string;
  readonly config?: Pick<HermesConfig, "model" | "models">;
  readonly loopbackTimeoutMs?: number;
  readonly remoteTimeoutMs?: number;
  readonly fetch?: typeof fetch;
  readonly signal?: AbortSignal;
};

/** Every start waits for the answer, so the timeouts are short. */
const LOOPBACK_TIMEOUT_MS = 2_000;
const REMOTE_TIMEOUT_MS = 5_000;

/** Rejects only when the signal is aborted. */
export async function resolveContextWindow(
  question: WindowQuestion,
  options: WindowOptions = {},
): Promise<ContextWindow> {
  const { provider = "", baseUrl = "" } = question;
  const model = withoutProvider(question.model.trim());
  const configured = windowFromConfig({ ...question, model }, options.config);
  if (configured) return configured;

  const base = parseBaseUrl(baseUrl);
  const isHere = base !== undefined && isLoopback(base);
  const key = { model, provider, baseUrl: baseUrl.trim() };
  const known = async (): Promise<ContextWindow | undefined> => {
    const tokens = options.home === undefined ? undefined : await cachedWindow(options.home, key);
    return tokens === undefined ? undefined : found(tokens, "cache");
  };
  const asked = async (): Promise<Asked | undefined> => {
    if (base === undefined || model === "") return undefined;
    const timeoutMs = isHere
      ? (options.loopbackTimeoutMs ?? LOOPBACK_TIMEOUT_MS)
      : (options.remoteTimeoutMs ?? REMOTE_TIMEOUT_MS);
    const apiKey = question.apiKey ?? "";
    const { fetch: send = fetch, signal } = options;
    const answer = await askServer({ model, provider, base, apiKey, timeoutMs, fetch: send, signal });
    if (answer === undefined) return undefined;
    const { isLoaded, ...window } = answer;
    return { window: { ...window, source: "server" }, isLoaded };
  };

  // A local server is asked even if the cache has an answer: it is fast, and its window may have changed.
  if (isHere) return lower(await asked(), await known()) ?? looked(model, provider);
  const cached = await known();
  if (cached) return cached;
  const told = options.config?.model.probeRemote ? (await asked())?.window : undefined;
  // If it cannot be stored, the server is asked again at the next start.
  if (told && !told.isProvisional && options.home !== undefined)
    await rememberWindow(options.home, key, told.tokens).catch(() => undefined);
  return told ?? looked(model, provider);
}

type Asked = { readonly window: ContextWindow; readonly isLoaded: boolean };

/**
 * For a server on this machine. The cache holds the limit it stated in an error, and its list of models may promise more than it
 * serves: the lower one counts, unless the server says with which window the model is loaded now.
 */
function lower(told: Asked | undefined, kept: ContextWindow | undefined): ContextWindow | undefined {
  if (told === undefined || kept === undefined) return told?.window ?? kept;
  if (told.isLoaded || told.window.tokens <= kept.tokens) return told.window;
  return { ...kept, isProvisional: told.window.isProvisional };
}

/** From config: for the main model, or in the entry of a custom provider. */
function windowFromConfig(
  { model, provider = "", baseUrl = "" }: WindowQuestion,
  config: WindowOptions["config"],
): ContextWindow | undefined {
  if (config === undefined) return undefined;
  const { contextLength, default: main } = config.model;
  // `model.context_length` applies to `model.default` only.
  const isMain = main === "" || withoutProvider(main) === model;
  if (contextLength !== undefined && isMain) return found(contextLength, "config");
  const own = config.models.customProviders.find((entry) => isMeant(entry, provider, baseUrl));
  const models = own?.models ?? {};
  const tokens = Object.hasOwn(models, model) ? models[model]?.contextLength : undefined;
  return tokens === undefined ? undefined : found(tokens, "custom_provider");
}

function isMeant(entry: CustomProvider, provider: string, baseUrl: string): boolean {
  const address = (text: string): string => text.trim().replace(/\/+$/, "").toLowerCase();
  if (address(baseUrl) !== "") return address(entry.baseUrl) === address(baseUrl);
  const name = provider.replace(/^custom:/, "").toLowerCase();
  return name !== "" && entry.name.toLowerCase() === name;
}

async function looked(model: string, provider: string): Promise<ContextWindow> {
  const listed = windowFromTable(model);
  if (listed !== undefined) return found(listed, "table");
  const catalogued = model === "" ? undefined : await windowFromCatalogue(model, provider);
  return catalogued === undefined ? found(DEFAULT_WINDOW, "default") : found(catalogued, "catalogue");
}

function found(tokens: number, source: WindowSource): ContextWindow {
  return { tokens, source, isProvisional: false };
}

// Windows of well-known models, in tokens. The longest key that occurs in the model's name counts.

/** For an unknown model. */
const DEFAULT_WINDOW = 256_000;

const MILLION = 1_000_000;

const WINDOWS: Readonly<Record<string, number>> = {
  claude: 200_000,
  ...each(["claude-opus-4-6", "claude-opus-4.6", "claude-sonnet-4-6", "claude-sonnet-4.6"], MILLION),
  ...each(["claude-opus-4-7", "claude-opus-4.7", "claude-opus-4-8", "claude-opus-4.8"], MILLION),
  "gpt-5": 400_000,
  ...each(["gpt-5.4", "gpt-5.5"], 1_050_000),
  ...each(["gpt-5.4-mini", "gpt-5.4-nano"], 400_000),
  "gpt-4.1": 1_047_576,
  "gpt-4": 128_000,
  gemini: 1_048_576,
  deepseek: 128_000,
  ...each(["deepseek-v4", "deepseek-chat", "deepseek-reasoner"], MILLION),
  ...each(["llama", "qwen", "nemotron"], 131_072),
  glm: 202_752,
  kimi: 262_144,
  minimax: 204_800,
  "minimax-m3": MILLION,
  "grok-4": 256_000,
  "grok-4.3": MILLION,
};

const LONGEST_FIRST = Object.keys(WINDOWS).sort((one, other) => other.length - one.length);

function windowFromTable(model: string): number | undefined {
  const name = model.toLowerCase();
  const key = LONGEST_FIRST.find((candidate) => name.includes(candidate));
  return key === undefined ? undefined : WINDOWS[key];
}

function each(keys: readonly string[], tokens: number): Record<string, number> {
  return Object.fromEntries(keys.map((key) => [key, tokens]));
}

/** From the catalogue of prices that comes with the package. Nothing is fetched. */
async function windowFromCatalogue(model: string, provider: string): Promise<number | undefined> {
  const tokens = (await findInCatalogue(model, provider))?.model.context_window;
  return isPlausibleWindow(tokens) ? tokens : undefined;
}
