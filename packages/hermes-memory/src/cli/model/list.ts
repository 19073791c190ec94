// `hermes model list`: what there is to choose from. Servers beyond this machine are asked only when they are named.

import { nearest } from "@hermes-memory/core/config";
import { redactSecrets } from "@hermes-memory/core/security";
import { type CommandBody, CommandFailure } from "../command.ts";
import { printable } from "../printing.ts";
import { serverToAsk } from "./asked-models.ts";
import { type ListedServer, type ListedVendor, listLines, type ModelList } from "./list-lines.ts";
import { identityJson, type ModelSources, modelSources, resolveModel } from "./resolution.ts";
import { localServers } from "./servers.ts";
import { allVendors, keyVariable, type Vendor } from "./vendors.ts";

export const list: CommandBody = async ({ flags }, context) => {
  const sources = await modelSources(context);
  const resolved = resolveModel(sources);
  const wanted = typeof flags.provider === "string" ? flags.provider.trim().toLowerCase() : "";
  const vendors = allVendors(sources.config);
  const named = wanted === "" ? undefined : vendorNamed(wanted, vendors);
  const current = resolved.ok ? resolved.value.identity : undefined;
  const listed: ModelList = {
    current,
    servers: await askServers(named, { wanted, isSet: resolved.ok, sources }),
    vendors: vendors
      .filter((vendor) => wanted === "" || vendor === named)
      .map((vendor) => listedVendor(vendor, sources)),
  };
  context.io.endWithoutWaiting();
  return {
    json: toJson(listed),
    lines: listLines(listed, context.io.paint),
    notes: resolved.ok ? [] : [resolved.error.message, resolved.error.hint].map(printable),
  };
};

/** `custom` is the address in config.yaml, which is no row of the table. */
function vendorNamed(name: string, vendors: readonly Vendor[]): Vendor | undefined {
  const named = (vendor: Vendor): boolean =>
    [vendor.name, vendor.label].some((text) => text.toLowerCase() === name);
  const found = vendors.find(named);
  if (found !== undefined || name === "custom") return found;
  const names = [...vendors.map((vendor) => vendor.name), "custom"];
  const meant = nearest(name, names);
  throw new CommandFailure(`There is no provider '${name}'. There are: ${names.join(", ")}.`, {
    exitCode: 2,
    ...(meant === undefined ? {} : { hint: `Did you mean '${meant}'?` }),
    details: { kind: "unknown_provider" },
  });
}

async function askServers(
  named: Vendor | undefined,
  {
    wanted,
    isSet,
    sources,
  }: { readonly wanted: string; readonly isSet: boolean; readonly sources: ModelSources },
): Promise<ListedServer[]> {
  const found = wanted === "" || named?.isLocal === true ? await localServers(sources.env) : [];
  const local = found
    .filter(({ kind }) => wanted === "" || kind === named?.name)
    .map(({ kind, baseUrl, models }): ListedServer => ({ provider: kind, baseUrl, isAsked: true, models }));
  // Where the settings lead, or who was named.
  const server = serverToAsk(sources, wanted === "" ? {} : { provider: named?.name ?? wanted });
  if (server === undefined || local.some(({ baseUrl }) => isSame(baseUrl, server.baseUrl))) return local;
  const { provider, baseUrl, isHere } = server;
  if (wanted === "" && (!isSet || (!isHere && isVendor(provider, sources)))) return local;
  const isAsked = wanted !== "" || isHere;
  return [...local, { provider, baseUrl, isAsked, models: isAsked ? await server.ask() : undefined }];
}

/** Vendors have a list of their own. */
function isVendor(provider: string, { config }: ModelSources): boolean {
  return allVendors(config).some(({ name, isOwn }) => name === provider && !isOwn);
}

function listedVendor(vendor: Vendor, { env }: ModelSources): ListedVendor {
  const { name, label, isLocal, baseUrl, variables, models, hasOwnKey } = vendor;
  const keyIn = keyVariable(vendor, env) ?? (hasOwnKey ? "config.yaml" : undefined);
  return { name, label, isLocal, baseUrl, variables, keyIn, models };
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

function isSame(one: string, other: string): boolean {
  const plain = (text: string): string => text.replace(/\/+$/, "").toLowerCase();
  return plain(one) === plain(other);
}
