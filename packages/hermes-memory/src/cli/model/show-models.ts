// `hermes model`: the model of new conversations. `hermes model list`: the models to choose from.
import { type ModelIdentity, resolveContextWindow } from "@hermes-memory/agent/internal/models";
import { configPath, nearest } from "@hermes-memory/core/internal/config";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { type CommandBody, CommandFailure, type Paint } from "../command.ts";
import { oneLine, printable } from "../printing.ts";
import { render } from "../render.ts";
import {
  allVendors,
  isSameAddress,
  keyVariable,
  listingServer,
  localServers,
  type Vendor,
} from "./model-servers.ts";
import {
  addressText,
  CHOOSING_VARIABLES,
  cachingJson,
  choiceFailure,
  identityJson,
  type ModelSources,
  modelSources,
  resolveModel,
  windowJson,
} from "./resolution.ts";

type ListedServer = {
  readonly provider: string;
  readonly baseUrl: string;
  readonly isAsked: boolean;
  /** Undefined when it gave no list. */
  readonly models: readonly string[] | undefined;
};

type ListedVendor = Vendor & { readonly keyIn: string | undefined };

type ModelList = {
  readonly current: ModelIdentity | undefined;
  readonly servers: readonly ListedServer[];
  readonly vendors: readonly ListedVendor[];
};

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
    notes: [
      ...(hasKey ? [] : [resolved.value.problem.message, resolved.value.problem.hint].map(printable)),
      ...(overrides.length === 0 ? [] : [`Chosen by ${overrides.join(" and ")}, before config.yaml.`]),
    ],
  };
};

// `hermes model list`. Servers on other machines are asked only when the user names them.

export const list: CommandBody = async ({ flags }, context) => {
  const sources = await modelSources(context);
  const resolved = resolveModel(sources);
  const asked = typeof flags.provider === "string" ? flags.provider.trim().toLowerCase() : "";
  const vendors = allVendors(sources.config);
  const named = asked === "" ? undefined : vendorNamed(asked, vendors);
  const current = resolved.ok ? resolved.value.identity : undefined;
  const listed: ModelList = {
    current,
    servers: await askServers(named, { asked, isSet: resolved.ok, sources }),
    vendors: vendors
      .filter((vendor) => asked === "" || vendor === named)
      .map((vendor) => ({ ...vendor, keyIn: keyPlace(vendor, sources) })),
  };
  context.io.endWithoutWaiting();
  return {
    json: toJson(listed),
    lines: listLines(listed, context.io.paint),
    notes: resolved.ok ? [] : [resolved.error.message, resolved.error.hint].map(printable),
  };
};

/** Undefined for `custom`, the address in config.yaml, which is not in the table. */
function vendorNamed(name: string, vendors: readonly Vendor[]): Vendor | undefined {
  const named = (vendor: Vendor): boolean =>
    [vendor.name, vendor.label].some((text) => text.toLowerCase() === name);
  const found = vendors.find(named);
  if (found !== undefined || name === "custom") return found;
  const names = [...vendors.map((vendor) => vendor.name), "custom"];
  const meant = nearest(name, names);
  throw new CommandFailure(`There is no provider '${name}'. There are: ${names.join(", ")}.`, {
    exitCode: 2,
    hint: meant === undefined ? undefined : `Did you mean '${meant}'?`,
    details: { kind: "unknown_provider" },
  });
}

async function askServers(
  named: Vendor | undefined,
  {
    asked,
    isSet,
    sources,
  }: { readonly asked: string; readonly isSet: boolean; readonly sources: ModelSources },
): Promise<ListedServer[]> {
  const found = asked === "" || named?.isLocal === true ? await localServers(sources.env) : [];
  const local = found
    .filter(({ kind }) => asked === "" || kind === named?.name)
    .map(({ kind, baseUrl, models }): ListedServer => ({ provider: kind, baseUrl, isAsked: true, models }));
  // The server that the settings lead to, or the one that was named.
  const server = listingServer(sources, asked === "" ? {} : { provider: named?.name ?? asked });
  if (server === undefined || local.some(({ baseUrl }) => isSameAddress(baseUrl, server.baseUrl)))
    return local;
  const { provider, baseUrl, isLocal } = server;
  if (asked === "" && (!isSet || (!isLocal && isVendor(provider, sources)))) return local;
  const isAsked = asked !== "" || isLocal;
  return [...local, { provider, baseUrl, isAsked, models: isAsked ? await server.listModels() : undefined }];
}

function isVendor(provider: string, { config }: ModelSources): boolean {
  return allVendors(config).some(({ name, isOwn }) => name === provider && !isOwn);
}

/** The variable that holds the key, or config.yaml. */
function keyPlace(vendor: Vendor, { env }: ModelSources): string | undefined {
  return keyVariable(vendor, env) ?? (vendor.hasOwnKey ? "config.yaml" : undefined);
}

function toJson({ current, servers, vendors }: ModelList): object {
  const address = (baseUrl: string): string | null => (baseUrl === "" ? null : redactSecrets(baseUrl));
  return {
    configured: current === undefined ? null : identityJson(current),
    servers: servers.map(({ provider, baseUrl, isAsked, models }) => {
      return { provider, base_url: address(baseUrl), asked: isAsked, models: models ?? null };
    }),
    providers: vendors.map(({ name, label, isLocal, baseUrl, variables, keyIn, models }) => ({
      name,
      label,
      local: isLocal,
      base_url: address(baseUrl),
      key_variables: variables,
      has_key: isLocal || keyIn !== undefined,
      key_in: keyIn ?? null,
      suggested_models: models,
    })),
  };
}

/** A gateway may have hundreds; `--json` prints them all. */
const MOST_MODELS = 100;

/** The models of each server below its name, then the vendors. */
function listLines({ servers, vendors, current }: ModelList, paint: Paint): string[] {
  const models = servers.flatMap(({ provider, baseUrl, isAsked, models }) => {
    const silent = isAsked ? "no answer, or no list of models" : "not asked; --provider asks it";
    const names = models?.map((name) => `${name === current?.model ? "*" : " "} ${oneLine(name, 100)}`);
    const more = (names?.length ?? 0) - MOST_MODELS;
    return [
      paint("bold", `${oneLine(provider)} at ${addressText(baseUrl)}`),
      ...(names ?? [silent]).slice(0, MOST_MODELS).map((line) => `  ${line}`),
      ...(more > 0 ? [`    and ${more} more; --json prints them all`] : []),
    ];
  });
  const providers = vendors.map(({ name, isLocal, variables, keyIn, models: suggested }) => ({
    name,
    key: isLocal ? "none needed" : keyIn === undefined ? `set ${variables[0] ?? "it"}` : `in ${keyIn}`,
    suggested_models: suggested,
  }));
  return [...models, ...render({ providers }, paint)];
}
