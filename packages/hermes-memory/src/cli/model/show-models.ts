// `hermes model`: the model of new conversations. `hermes model list`: the models to choose from.
import { resolveContextWindow } from "@hermes-memory/agent/internal/models";
import { configPath } from "@hermes-memory/core/internal/config";
import type { CommandBody } from "../command.ts";
import { printable } from "../printing.ts";
import {
  addressJson,
  allVendors,
  cachingJson,
  choiceFailure,
  identityJson,
  isSameAddress,
  keyVariable,
  listingServer,
  localServers,
  type ModelSources,
  modelSources,
  overridesIn,
  overridingNotes,
  resolveModel,
  type Vendor,
  vendorNamed,
  windowJson,
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
  return {
    json: {
      ...identityJson(identity),
      key: hasKey
        ? { found: true, source: resolved.value.chosen.keySource }
        : { found: false, source: null, problem: resolved.value.problem.message },
      window: windowJson(window),
      prompt_caching: cachingJson(identity, ttl),
      chosen_by: overridesIn(env),
      config_path: configPath(home),
    },
    notes: [
      ...(hasKey ? [] : [resolved.value.problem.message, resolved.value.problem.hint].map(printable)),
      ...overridingNotes(env),
    ],
  };
};

// `hermes model list`. Servers on other machines are asked only when the user names them.

export const list: CommandBody = async ({ flags }, context) => {
  const sources = await modelSources(context);
  const resolved = resolveModel(sources);
  const asked = typeof flags.provider === "string" ? flags.provider.trim().toLowerCase() : "";
  const vendors = allVendors(sources.config);
  const named = asked === "" ? undefined : vendorNamed(asked, sources);
  const json = {
    configured: resolved.ok ? identityJson(resolved.value.identity) : null,
    servers: await askServers(named, asked, resolved.ok, sources),
    providers: vendors
      .filter(({ name }) => asked === "" || name === named?.name)
      .map((vendor) => {
        const { name, label, isLocal, envVars, models } = vendor;
        // The variable that holds the key, or config.yaml.
        const keyIn = keyVariable(vendor, sources.env) ?? (vendor.hasOwnKey ? "config.yaml" : null);
        return {
          ...{ name, label, local: isLocal, base_url: addressJson(vendor.defaultBaseUrl) },
          key_variables: envVars,
          has_key: isLocal || keyIn !== null,
          key_in: keyIn,
          suggested_models: models,
        };
      }),
  };
  context.io.endWithoutWaiting();
  return {
    json,
    notes: resolved.ok ? [] : [resolved.error.message, resolved.error.hint].map(printable),
  };
};

type ListedServer = {
  readonly provider: string;
  readonly base_url: string | null;
  readonly asked: boolean;
  /** Null when it gave no list. */
  readonly models: readonly string[] | null;
};

async function askServers(
  named: Vendor | undefined,
  asked: string,
  isSet: boolean,
  sources: ModelSources,
): Promise<ListedServer[]> {
  const found = asked === "" || named?.isLocal === true ? await localServers(sources.env) : [];
  const local = found
    .filter(({ kind }) => asked === "" || kind === named?.name)
    .map(({ kind, baseUrl, models }) => ({ provider: kind, base_url: baseUrl, asked: true, models }));
  // The server that the settings lead to, or the one that was named.
  const server = listingServer(sources, asked === "" ? {} : { provider: named?.name ?? asked });
  if (server === undefined || local.some((each) => isSameAddress(each.base_url, server.baseUrl)))
    return local;
  const { provider, baseUrl, isLocal } = server;
  const isVendor = allVendors(sources.config).some(({ name, isOwn }) => name === provider && !isOwn);
  if (asked === "" && (!isSet || (!isLocal && isVendor))) return local;
  const isAsked = asked !== "" || isLocal;
  const models = isAsked ? ((await server.listModels()) ?? null) : null;
  return [...local, { provider, base_url: addressJson(baseUrl), asked: isAsked, models }];
}
