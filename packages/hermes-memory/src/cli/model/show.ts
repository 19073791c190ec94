// `hermes model`: what a conversation that starts now would talk to.

import { resolveContextWindow } from "@hermes-memory/agent/models";
import { configPath } from "@hermes-memory/core/config";
import type { CommandBody } from "../command.ts";
import { printable } from "../printing.ts";
import {
  addressText,
  CHOOSING_VARIABLES,
  cachingJson,
  cachingText,
  choiceFailure,
  identityJson,
  modelSources,
  resolveModel,
  windowJson,
  windowText,
} from "./resolution.ts";

export const show: CommandBody = async (_input, context) => {
  const sources = await modelSources(context);
  const resolved = resolveModel(sources);
  if (!resolved.ok) throw choiceFailure(resolved.error);
  const { identity, hasKey } = resolved.value;
  const { home, config, env } = sources;
  const apiKey = hasKey ? resolved.value.chosen.apiKey : "";
  const window = await resolveContextWindow({ ...identity, apiKey }, { home, config });
  const ttl = config.promptCaching.cacheTtl;
  const overrides = CHOOSING_VARIABLES.filter((name) => (env[name] ?? "").trim() !== "");
  return {
    json: {
      ...identityJson(identity),
      key: hasKey
        ? { found: true, source: resolved.value.chosen.keySource }
        : { found: false, source: null, problem: resolved.value.problem.message },
      window: windowJson(window),
      prompt_caching: cachingJson(identity, ttl),
      chosen_by: overrides,
      config_path: configPath(home),
    },
    lines: [
      row("model", printable(identity.model)),
      row("provider", printable(identity.provider)),
      row("address", identity.baseUrl === "" ? "the provider's own" : addressText(identity.baseUrl)),
      row("protocol", identity.apiMode),
      row("key", hasKey ? printable(resolved.value.chosen.keySource) : context.io.paint("yellow", "missing")),
      row("window", windowText(window)),
      row("caching", cachingText(identity, ttl)),
    ],
    notes: [
      ...(hasKey ? [] : [resolved.value.problem.message, resolved.value.problem.hint].map(printable)),
      ...(overrides.length === 0 ? [] : [`Chosen by ${overrides.join(" and ")}, before config.yaml.`]),
    ],
  };
};

function row(name: string, value: string): string {
  return `${name.padEnd(9)} ${value}`;
}
