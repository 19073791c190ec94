// What config, the model's server and the plugins folder tell about the next session's context.

import {
  type ContextWindow,
  isLoopback,
  parseBaseUrl,
  resolveContextWindow,
} from "@hermes-memory/agent/models";
import type { HermesConfig } from "@hermes-memory/core/config";
import {
  type Budgets,
  type CachingPolicy,
  cachingPolicy,
  compressorSettings,
  deriveBudgets,
  type ListedEngine,
  listEngines,
  losslessSettings,
  type SummaryFeasibility,
  summaryFeasibility,
  windowFit,
} from "@hermes-memory/core/context";

export type ContextLook = {
  readonly config: HermesConfig;
  /** Undefined when what config names is not installed. */
  readonly engine: ListedEngine | undefined;
  readonly window: ContextWindow;
  /** Of the built-in engines; a plugin has rules of its own. */
  readonly budgets: Budgets;
  readonly summary: SummaryLook;
  /** Undefined when config names no model, or not where it is served. */
  readonly caching: CachingPolicy | undefined;
  readonly notices: readonly string[];
};

type SummaryLook = {
  /** Undefined: the conversation's own. */
  readonly model: string | undefined;
  readonly provider: string;
  readonly window: number | undefined;
};

export async function lookAtContext(config: HermesConfig, home: string): Promise<ContextLook> {
  const { engines, warnings } = await listEngines(home);
  const engine = engines.find(({ name }) => name === config.context.engine);
  const { default: model, provider, baseUrl, apiKey } = config.model;
  const window = await resolveContextWindow({ model, provider, baseUrl, apiKey }, { home, config });
  const budgets = budgetsOf(config, engine, window.tokens);
  const summary = await lookAtSummary(config, home);
  const notices = [
    ...engineNotices(config, engine),
    ...warnings,
    ...windowNotices(config, window),
    ...summaryNotices(config, { window, budgets, summary }),
  ];
  const place = [provider, baseUrl, config.model.apiMode];
  // The same model is cached by one server and not by another.
  const isKnown = model !== "" && place.some((part) => part !== "");
  const caching = isKnown
    ? cachingPolicy({ model, provider, baseUrl, apiMode: apiModeOf(config) })
    : undefined;
  return { config, engine, window, budgets, summary, caching, notices };
}

function budgetsOf(config: HermesConfig, engine: ListedEngine | undefined, window: number): Budgets {
  const settings = compressorSettings(config, window);
  if (engine?.name !== "lcm") return deriveBudgets(settings);
  return deriveBudgets({ ...settings, targetRatio: losslessSettings(config).freshTailRatio });
}

/** Its window matters only when it is another model than the conversation's. */
async function lookAtSummary(config: HermesConfig, home: string): Promise<SummaryLook> {
  const { model, provider, baseUrl, apiKey, contextLength } = config.auxiliary.compression;
  if (model === "") return { model: undefined, provider, window: contextLength };
  if (contextLength !== undefined) return { model, provider, window: contextLength };
  const isSame = baseUrl === "" && ["", "auto", config.model.provider].includes(provider);
  const place = isSame
    ? { provider: config.model.provider, baseUrl: config.model.baseUrl, apiKey: config.model.apiKey }
    : { provider, baseUrl, apiKey };
  const { tokens } = await resolveContextWindow({ model, ...place }, { home, config });
  return { model, provider, window: tokens };
}

function engineNotices(config: HermesConfig, engine: ListedEngine | undefined): string[] {
  const { engine: name } = config.context;
  const place = "'compressor' takes its place.";
  if (engine === undefined) return [`The engine '${name}' is not installed; ${place}`];
  return engine.problem === undefined
    ? []
    : [`The engine '${name}' cannot be used; ${place} ${engine.problem}`];
}

function windowNotices({ model, raw }: HermesConfig, window: ContextWindow): string[] {
  const written = typeof raw.model === "object" && raw.model !== null && "context_length" in raw.model;
  const isIgnored = written && model.contextLength === undefined;
  const ignored = "model.context_length is ignored; 'hermes config check' says why.";
  const provisional =
    `${window.server} has not loaded the model and may then serve less than this without saying so. ` +
    "Load it and ask again, or set model.context_length to what the server is set to.";
  const base = parseBaseUrl(model.baseUrl);
  const isSilent =
    base !== undefined &&
    isLoopback(base) &&
    !["config", "custom_provider", "server"].includes(window.source);
  const fit = windowFit(model.default, window.tokens, { promptTokens: 0, toolTokens: 0 });
  return [
    ...(model.default === ""
      ? ["No model is set; the figures are for an unknown one. Set model.default."]
      : []),
    ...(isIgnored ? [ignored] : []),
    ...(window.isProvisional ? [provisional] : []),
    ...(isSilent ? ["The model's server on this machine did not say how much it takes. Is it running?"] : []),
    ...(fit.kind === "too_small" ? [fit.message] : fit.notice ? [fit.notice.text] : []),
  ];
}

function summaryNotices(
  { model: main, compression }: HermesConfig,
  { window, budgets, summary }: Pick<ContextLook, "window" | "budgets" | "summary">,
): string[] {
  if (!compression.enabled || summary.window === undefined || main.default === "") return [];
  const feasibility: SummaryFeasibility = summaryFeasibility({
    mainModel: main.default,
    mainWindow: window.tokens,
    thresholdTokens: budgets.thresholdTokens,
    summary: { model: summary.model ?? main.default, window: summary.window },
  });
  return feasibility.kind === "fine" ? [] : [feasibility.notice.text];
}

/** What a provider speaks when config does not say. */
function apiModeOf({ model }: HermesConfig): string {
  if (model.apiMode !== "") return model.apiMode;
  const isAnthropic =
    model.provider === "anthropic" || /^https?:\/\/api\.anthropic\.com(?:[:/]|$)/i.test(model.baseUrl);
  return isAnthropic ? "anthropic_messages" : "chat_completions";
}
