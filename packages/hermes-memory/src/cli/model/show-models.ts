// `hermes model`: the model of new conversations. `hermes model list`: the models to choose from.
import { type ModelIdentity, resolveContextWindow } from "@hermes-memory/agent/internal/models";
import { configPath, nearest } from "@hermes-memory/core/internal/config";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { type CommandBody, CommandFailure, type Paint } from "../command.ts";
import { counted, oneLine, printable } from "../printing.ts";
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
  cachingText,
  choiceFailure,
  identityJson,
  type ModelSources,
  modelSources,
  modelText,
  resolveModel,
  windowJson,
  windowText,
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

const NAME_CHARS = 100;
/** A gateway may have hundreds; `--json` prints them all. */
const MOST_MODELS = 100;

function listLines(list: ModelList, paint: Paint): string[] {
  const { current, servers, vendors } = list;
  const others = vendors.filter(({ isLocal }) => !isLocal);
  const silent = vendors.filter(
    ({ isLocal, name }) => isLocal && !servers.some(({ provider }) => provider === name),
  );
  return [
    paint("bold", "Set"),
    `  ${current === undefined ? "no model" : modelText(current)}`,
    paint("bold", "Servers"),
    ...servers.flatMap((server) => serverLines(server, list, paint)),
    ...silent.map(({ name, baseUrl }) =>
      paint("dim", `  ${name}: nothing answers at ${addressText(baseUrl)}`),
    ),
    ...(others.length === 0 ? [] : [paint("bold", "Providers"), ...vendorLines(others, paint)]),
  ];
}

function serverLines(
  { provider, baseUrl, isAsked, models }: ListedServer,
  { current }: ModelList,
  paint: Paint,
): string[] {
  const name = oneLine(provider);
  const head = `  ${name} at ${addressText(baseUrl)}`;
  if (!isAsked) return [`${head}: not asked; 'hermes model list --provider ${name}' does`];
  if (models === undefined) return [paint("yellow", `${head}: no answer, or no list of models`)];
  const isCurrent = (name: string): boolean => current?.provider === provider && current.model === name;
  const shown = models.slice(0, MOST_MODELS).map((name) => {
    const line = `  ${isCurrent(name) ? "*" : " "} ${oneLine(name, NAME_CHARS)}`;
    return isCurrent(name) ? paint("green", line) : line;
  });
  const rest = models.length - shown.length;
  return [
    `${head}: ${models.length === 0 ? "no model yet" : counted(models.length, "model")}`,
    ...shown,
    ...(rest === 0 ? [] : [`    and ${rest} more; --json prints them all`]),
  ];
}

function vendorLines(vendors: readonly ListedVendor[], paint: Paint): string[] {
  const keys = vendors.map(({ variables: [usual], keyIn }) => {
    if (keyIn !== undefined) return `key in ${keyIn}`;
    return usual === undefined ? "no key set" : `no key; set ${usual}`;
  });
  const width = Math.max(...vendors.map(({ name }) => name.length));
  const keyWidth = Math.max(...keys.map((key) => key.length));
  return vendors.map(({ name, keyIn, models }, index) => {
    const padded = (keys[index] ?? "").padEnd(models.length === 0 ? 0 : keyWidth);
    const key = keyIn === undefined ? paint("yellow", padded) : padded;
    const such =
      models.length === 0 ? "" : paint("dim", `  ${models.map((each) => oneLine(each)).join(", ")}`);
    return `  ${oneLine(name).padEnd(width)}  ${key}${such}`;
  });
}
