// `hermes context status`: which engine the next session gets, how much its model takes and what follows from that.
import { groupThousands } from "@hermes-memory/core/lib";
import { redactSecrets } from "@hermes-memory/core/security";
import type { CommandBody, Paint } from "../command.ts";
import { windowText } from "../model/resolution.ts";
import { oneLine, printable } from "../printing.ts";
import { type ContextLook, lookAtContext } from "./look.ts";

export const status: CommandBody = async (_input, { memory, io }) => {
  const look = await lookAtContext(await memory.config(), memory.home);
  return {
    json: toJson(look),
    lines: linesOf(look, io.paint),
    notes: look.notices.map((notice) => `note: ${printable(notice)}`),
  };
};

function toJson({ config, engine, window, budgets, summary, caching, notices }: ContextLook): object {
  const { model, compression } = config;
  const { tokens, source, server, isProvisional } = window;
  const isBuiltIn = engine?.source !== "plugin";
  return {
    engine: config.context.engine,
    engine_installed: engine !== undefined && engine.problem === undefined,
    engine_source: engine?.source ?? null,
    model: model.default || null,
    provider: model.provider || null,
    base_url: model.baseUrl === "" ? null : redactSecrets(model.baseUrl),
    window: { tokens, source, server: server ?? null, provisional: isProvisional },
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
      threshold_tokens: Math.trunc(tokens * compression.hygieneThreshold),
      message_limit: compression.hygieneHardMessageLimit,
    },
    summary_model: {
      model: summary.model ?? (model.default || null),
      provider: summary.provider,
      is_main: summary.model === undefined,
      window: summary.window ?? tokens,
    },
    prompt_caching: {
      enabled: caching?.enabled ?? null,
      layout: caching?.enabled ? (caching.native ? "native" : "envelope") : null,
      ttl: config.promptCaching.cacheTtl,
    },
    notices,
  };
}

function linesOf(look: ContextLook, paint: Paint): string[] {
  const { config, engine, window, budgets, summary } = look;
  const { model, compression, context } = config;
  const isUsable = engine !== undefined && engine.problem === undefined;
  const source = isUsable ? `, ${engine.source}` : paint("red", ", not usable");
  const served = [model.provider === "" ? "" : `by ${model.provider}`, redactSecrets(model.baseUrl)];
  const place = served.filter((part) => part !== "").join(" at ");
  const count = groupThousands;
  const share = Math.round((budgets.thresholdTokens / window.tokens) * 100);
  const compacts = compression.enabled
    ? `at ${count(budgets.thresholdTokens)} tokens (${share} % of the window)`
    : "off; only when asked to";
  const rules = [
    row("compacts", compacts),
    row(
      "keeps",
      `the first ${count(compression.protectFirstN)} messages and about ${count(budgets.tailTokens)} tokens at the end`,
    ),
    row("summaries", `up to ${count(budgets.maxSummaryTokens)} tokens, by ${summaryModel(summary)}`),
  ];
  return [
    row("engine", `${oneLine(context.engine)}${source}`),
    row(
      "model",
      model.default === "" ? "none set" : `${oneLine(model.default)}${place && `, ${oneLine(place, 100)}`}`,
    ),
    row("window", windowText(window)),
    ...(engine?.source === "plugin" && isUsable ? [row("compacts", "by rules of the plugin")] : rules),
    row("caching", cachingText(look)),
  ];
}

function summaryModel({ model, provider }: ContextLook["summary"]): string {
  if (model === undefined) return "the conversation's own model";
  return provider === "auto" ? oneLine(model) : `${oneLine(model)} (${oneLine(provider)})`;
}

function cachingText({ caching, config }: ContextLook): string {
  if (caching === undefined) return "not known without a model and its provider";
  if (!caching.enabled) return "not by markers; a server may still cache on its own";
  return `on, ${caching.native ? "native" : "envelope"} layout, kept ${config.promptCaching.cacheTtl}`;
}

function row(name: string, value: string): string {
  return `${name.padEnd(10)} ${value}`;
}
