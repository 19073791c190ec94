// `hermes context status`, `engines` and `use`: the engine and the window of the next session, and choosing another engine.
import { resolve } from "node:path";
import {
  type ContextWindow,
  isLoopback,
  parseBaseUrl,
  resolveContextWindow,
} from "@hermes-memory/agent/internal/models";
import { type HermesConfig, nearest, setConfigValue } from "@hermes-memory/core/internal/config";
import {
  type Budgets,
  compressorSettings,
  deriveBudgets,
  type ListedEngine,
  listEngines,
  losslessSettings,
  type SummaryFeasibility,
  summaryFeasibility,
  windowFit,
} from "@hermes-memory/core/internal/context";
import { usable } from "@hermes-memory/core/internal/memory";
import { type CommandBody, CommandFailure } from "../command.ts";
import { addressJson, cachingJson, windowJson } from "../model/resolution.ts";
import { printable } from "../printing.ts";

/** The context of the next session, from config, the model's server and the plugins folder. */
export const status: CommandBody = async (_input, { memory }) => {
  const { home } = memory;
  const config = await memory.config();
  const { compression, context } = config;
  const { engines: all, warnings } = await listEngines(home);
  const engine = all.find(({ name }) => name === context.engine); // undefined when it is not installed
  const { default: model, provider, baseUrl, apiKey } = config.model;
  const window = await resolveContextWindow({ model, provider, baseUrl, apiKey }, { home, config });
  const budgets = budgetsOf(config, engine, window.tokens);
  const summary = await inspectSummary(config, home);
  const isBuiltIn = engine?.source !== "plugin"; // a plugin has its own rules
  // Caching depends on the server, not on the model alone.
  const isKnown = model !== "" && [provider, baseUrl, config.model.apiMode].some((part) => part !== "");
  const identity = { model, provider, baseUrl, apiMode: apiModeOf(config) };
  return {
    json: {
      engine: context.engine,
      engine_installed: engine !== undefined && engine.problem === undefined,
      engine_source: engine?.source ?? null,
      model: model || null,
      provider: provider || null,
      base_url: addressJson(baseUrl),
      window: windowJson(window),
      compression: {
        enabled: compression.enabled,
        threshold: compression.threshold,
        threshold_tokens: isBuiltIn ? budgets.thresholdTokens : null,
        tail_tokens: isBuiltIn ? budgets.tailTokens : null,
        max_summary_tokens: isBuiltIn ? budgets.maxSummaryTokens : null,
        protect_first_n: compression.protectFirstN,
        protect_last_n: compression.protectLastN,
      },
      hygiene: {
        threshold_tokens: Math.trunc(window.tokens * compression.hygieneThreshold),
        message_limit: compression.hygieneHardMessageLimit,
      },
      summary_model: {
        model: summary.model ?? (model || null),
        provider: summary.provider,
        is_main: summary.model === undefined,
        window: summary.window ?? window.tokens,
      },
      prompt_caching: cachingJson(isKnown ? identity : undefined, config.promptCaching.cacheTtl),
      notices: [
        ...engineNotices(config, engine),
        ...warnings,
        ...windowNotices(config, window),
        ...summaryNotices(config, { window, budgets, summary }),
      ],
    },
  };
};

/** `model` is undefined when it is the model of the conversation. */
type SummaryModel = Awaited<ReturnType<typeof inspectSummary>>;

function budgetsOf(config: HermesConfig, engine: ListedEngine | undefined, window: number): Budgets {
  const settings = compressorSettings(config, window);
  if (engine?.name !== "lcm") return deriveBudgets(settings);
  return deriveBudgets({ ...settings, targetRatio: losslessSettings(config).freshTailRatio });
}

/** Its window matters only when it is not the model of the conversation. */
async function inspectSummary(config: HermesConfig, home: string) {
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
  { window, budgets, summary }: { window: ContextWindow; budgets: Budgets; summary: SummaryModel },
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

/** The API mode of a provider when config does not set it. */
function apiModeOf({ model }: HermesConfig): string {
  if (model.apiMode !== "") return model.apiMode;
  const isAnthropic =
    model.provider === "anthropic" || /^https?:\/\/api\.anthropic\.com(?:[:/]|$)/i.test(model.baseUrl);
  return isAnthropic ? "anthropic_messages" : "chat_completions";
}

// The engines, and choosing one.

export const engines: CommandBody = async (_input, { memory }) => {
  const active = (await memory.config()).context.engine;
  const { engines: all, warnings } = await listEngines(memory.home);
  const missing = printable(
    `context.engine is '${active}', which is not installed. 'compressor' takes its place.`,
  );
  return {
    json: { active, engines: all.map((engine) => listed(engine, active)), warnings },
    notes: all.some(({ name }) => name === active) ? [] : [missing],
  };
};

export const use: CommandBody = async ({ args }, { memory }) => {
  const { home } = memory;
  const name = args.name ?? "";
  const { engines: all } = await listEngines(home);
  const wanted = all.find((engine) => engine.name === name);
  if (wanted === undefined) throw unknownEngine(name, all);
  if (wanted.problem !== undefined)
    throw new CommandFailure(`Cannot use '${name}'. ${wanted.problem}`, {
      details: { kind: "not-loadable", engine: name },
    });
  const previous = (await memory.config()).context.engine;
  const { changed, path } = usable(await setConfigValue(home, "context.engine", name));
  const isOther = previous !== name;
  return {
    json: {
      success: true,
      message: isOther ? `The context engine is now ${name}.` : `It was ${name} already.`,
      engine: name,
      previous,
      changed,
      path: resolve(path),
    },
    notes: isOther ? ["A new session uses it; one that is running keeps its engine."] : [],
  };
};

/** Without the path of its code. */
function listed({ entry: _entry, ...engine }: ListedEngine, active: string): object {
  return { ...engine, active: engine.name === active };
}

function unknownEngine(name: string, all: readonly ListedEngine[]): CommandFailure {
  const names = all.map((engine) => engine.name);
  const meant = nearest(name, names);
  const hint =
    meant === undefined
      ? "An engine of your own goes into the home's plugins folder, with 'kind: context_engine' in its plugin.yaml."
      : `Did you mean '${meant}'?`;
  return new CommandFailure(`There is no context engine '${name}'. There are: ${names.join(", ")}.`, {
    hint,
    details: { kind: "not-found", engine: name },
  });
}
