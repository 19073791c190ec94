// How large a model's context window is. Config comes first. A server on this machine is always asked, because it may serve a
// smaller window than the model has and cut requests silently; a remote server is asked only if the user allows it. Then the
// cache, a table of well-known models and the catalogue of prices.
import type { CustomProvider, HermesConfig } from "@hermes-memory/core/internal/config";
import { isLoopback, modelListUrl, parseBaseUrl, serverRoot } from "../base-url.ts";
import { findInCatalogue } from "../cost.ts";
import { asList, asRecord, fetchJson, isPlausibleWindow } from "../json-fields.ts";
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

/** Where `resolveContextWindow` may look. */
export type WindowOptions = {
  /** The home with the cache; absent: no cache. */
  readonly home?: string;
  readonly config?: Pick<HermesConfig, "model" | "models">;
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
    const timeoutMs = isHere ? LOOPBACK_TIMEOUT_MS : REMOTE_TIMEOUT_MS;
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

// Asking a model's server. The kind of server is unknown, so all questions go out at once; the answers count in the order of how
// well they tell what is really served.

type ServerQuestion = {
  readonly model: string;
  readonly provider: string;
  readonly base: URL;
  readonly apiKey: string;
  /** For all questions together. */
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
  readonly signal?: AbortSignal | undefined;
};

type ServerKind = "Ollama" | "LM Studio" | "llama.cpp" | "OpenAI-compatible";

type ServerWindow = {
  readonly tokens: number;
  readonly server: ServerKind;
  /** The maximum of the model; the server has not loaded it yet and may then serve less. */
  readonly isProvisional: boolean;
  /** The window with which the model is loaded now, so it overrides everything learnt earlier. */
  readonly isLoaded: boolean;
};

/** The list of models of a large gateway has several megabytes. */
const MOST_ANSWER_BYTES = 16 * 1024 * 1024;

/** Undefined without a useful answer in time. Rejects only when the caller's signal is aborted. */
async function askServer(question: ServerQuestion): Promise<ServerWindow | undefined> {
  const { model, base, timeoutMs, signal } = question;
  signal?.throwIfAborted();
  const done = new AbortController();
  const stop = AbortSignal.any([done.signal, AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
  const root = serverRoot(base);
  const get = (url: string): Promise<unknown> => readJson(url, {}, question, stop);
  const ps = get(`${root}/api/ps`);
  const show = readJson(`${root}/api/show`, { model, name: model }, question, stop);
  const listed = get(`${root}/api/v0/models`);
  const props = get(`${root}/props?model=${encodeURIComponent(model)}&autoload=false`);
  // Anthropic's list comes in pages of 20.
  const models = get(`${modelListUrl(base)}${isAnthropic(question) ? "?limit=1000" : ""}`);
  try {
    const window =
      fromOllama(model, await ps, await show) ??
      fromLmStudio(model, await listed) ??
      fromLlamaCpp(await props) ??
      fromModelList(model, await models) ??
      fromShowAlone(await show);
    signal?.throwIfAborted();
    return window;
  } finally {
    done.abort(); // the other answers are no longer needed
  }
}

/** `body` with keys makes it a POST. */
function readJson(
  url: string,
  body: Readonly<Record<string, unknown>>,
  question: ServerQuestion,
  signal: AbortSignal,
): Promise<unknown> {
  const isPost = Object.keys(body).length > 0;
  const headers = { accept: "application/json", ...keyHeaders(question) };
  const init = isPost
    ? {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body),
      }
    : { headers };
  return fetchJson(url, { ...init, signal }, { fetch: question.fetch, mostBytes: MOST_ANSWER_BYTES });
}

function keyHeaders(question: ServerQuestion): Record<string, string> {
  const { apiKey } = question;
  if (apiKey === "") return {};
  if (!isAnthropic(question)) return { authorization: `Bearer ${apiKey}` };
  return { "x-api-key": apiKey, "anthropic-version": "2023-06-01" };
}

function isAnthropic({ provider, base }: ServerQuestion): boolean {
  return provider.toLowerCase() === "anthropic" || base.hostname === "api.anthropic.com";
}

// Reading the answers of the usual model servers (pure). They are JSON from outside: fields of another shape are ignored.

/** `/api/ps` lists loaded models with their windows; `/api/show` has the model's maximum and the window its file asks for. */
function fromOllama(model: string, ps: unknown, show: unknown): ServerWindow | undefined {
  const { models } = asRecord(ps);
  if (!Array.isArray(models)) return undefined; // not Ollama, though it has an /api/show
  const loaded = models.map(asRecord).find(({ name, model: other }) => {
    return isSameOllamaModel(name, model) || isSameOllamaModel(other, model);
  });
  const served = asWindow(loaded?.context_length);
  if (served !== undefined) return told("Ollama", served, { isLoaded: true });

  const most = trainedWindow(show);
  const asked = asWindow(/^\s*num_ctx\s+"?(\d+)/m.exec(String(asRecord(show).parameters ?? ""))?.[1]);
  if (asked !== undefined) return told("Ollama", Math.min(asked, most ?? asked));
  // Models in Ollama's cloud always run with their maximum.
  return most === undefined ? undefined : told("Ollama", most, { isProvisional: !/[:-]cloud$/i.test(model) });
}

function told(
  server: ServerKind,
  tokens: number,
  { isProvisional = false, isLoaded = false }: Partial<ServerWindow> = {},
): ServerWindow {
  return { tokens, server, isProvisional, isLoaded };
}

/** `/api/show` alone: an old Ollama, or a server that imitates it. */
function fromShowAlone(show: unknown): ServerWindow | undefined {
  const tokens = trainedWindow(show);
  return tokens === undefined ? undefined : told("Ollama", tokens, { isProvisional: true });
}

/** `/api/v0/models` */
function fromLmStudio(model: string, list: unknown): ServerWindow | undefined {
  const entry = asList(asRecord(list).data)
    .map(asRecord)
    .find(({ id }) => isSameText(id, model));
  const loaded = asWindow(entry?.loaded_context_length);
  if (loaded !== undefined) return told("LM Studio", loaded, { isLoaded: true });
  const most = asWindow(entry?.max_context_length);
  // Another server's list may have a field of that name; only LM Studio's has a state.
  if (most === undefined || typeof entry?.state !== "string") return undefined;
  return told("LM Studio", most, { isProvisional: true });
}

/** `/props`: the window of one slot, which is what a request gets. */
function fromLlamaCpp(props: unknown): ServerWindow | undefined {
  const tokens = asWindow(asRecord(asRecord(props).default_generation_settings).n_ctx);
  return tokens === undefined ? undefined : told("llama.cpp", tokens, { isLoaded: true });
}

/** `/v1/models`. A server with a single model serves it under any name. */
function fromModelList(model: string, list: unknown): ServerWindow | undefined {
  const entries = asList(Array.isArray(list) ? list : asRecord(list).data).map(asRecord);
  const named = entries.find(({ id, name }) => isSameText(id, model) || isSameText(name, model));
  const entry = named ?? (entries.length === 1 ? entries[0] : undefined);
  const tokens = windowIn(entry);
  if (tokens === undefined) return undefined;
  // vLLM's field for the window it was started with. Other lists have the model's maximum.
  return told("OpenAI-compatible", tokens, { isLoaded: asWindow(entry?.max_model_len) === tokens });
}

function trainedWindow(show: unknown): number | undefined {
  const info = asRecord(asRecord(show).model_info);
  const own = asWindow(info[`${String(info["general.architecture"])}.context_length`]);
  const any = Object.entries(info).filter(([key]) => key.endsWith(".context_length"));
  return own ?? any.map(([, value]) => asWindow(value)).find((tokens) => tokens !== undefined);
}

/** A name without a tag means `latest`. */
function isSameOllamaModel(name: unknown, asked: string): boolean {
  return typeof name === "string" && tagged(name) === tagged(asked);
}

function tagged(name: string): string {
  const lower = name.trim().toLowerCase();
  return lower.slice(lower.lastIndexOf("/") + 1).includes(":") ? lower : `${lower}:latest`;
}

function isSameText(value: unknown, wanted: string): boolean {
  return typeof value === "string" && value.toLowerCase() === wanted.toLowerCase();
}

/** Names of the field in lists of models, in this order: the window that is served before the one the model was trained for. */
const FIELDS = [
  "context_length",
  "context_window",
  "context_size",
  "max_model_len",
  "n_ctx",
  "ctx_size",
  "max_context_length",
  "max_input_tokens",
  "max_sequence_length",
  "max_seq_len",
  "max_position_embeddings",
  "n_ctx_train",
];

/** Accepts a number, also written as text. */
function asWindow(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\s*\d+\s*$/.test(value) ? Number(value) : value;
  return isPlausibleWindow(number) ? number : undefined;
}

/** The window in an entry of a list of models, in the entry itself or one level deeper. */
function windowIn(entry: unknown): number | undefined {
  const own = firstField(entry);
  if (own !== undefined) return own;
  const inner = Object.values(asRecord(entry)).map(firstField);
  return inner.find((tokens) => tokens !== undefined);
}

function firstField(value: unknown): number | undefined {
  const record = asRecord(value);
  return FIELDS.map((field) => asWindow(record[field])).find((tokens) => tokens !== undefined);
}
