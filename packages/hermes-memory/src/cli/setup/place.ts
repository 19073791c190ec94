// Where the model runs: what the flags say, or what somebody chooses from what there is.
import type { ModelIdentity } from "@hermes-memory/agent/models";
import { CommandFailure, type Terminal } from "../command.ts";
import type { ModelSources } from "../model/resolution.ts";
import { choiceFailure, resolveModel } from "../model/resolution.ts";
import { type LocalServer, localServers } from "../model/servers.ts";
import { allVendors, keyVariable, type Vendor } from "../model/vendors.ts";
import { counted, oneLine } from "../printing.ts";
import { choose } from "../prompts/choose.ts";
import type { SetupOrder } from "./order.ts";

export type Place =
  | { readonly kind: "local"; readonly server: LocalServer }
  | { readonly kind: "vendor"; readonly vendor: Vendor }
  /** An address of the user's own; "" while it is not known. */
  | { readonly kind: "address"; readonly baseUrl: string }
  | { readonly kind: "nothing" };

const WHERE = "Where does the model run?";
const LABEL_CHARS = 90;

/** Undefined when the flags leave it open. */
export async function placeFromFlags(order: SetupOrder, sources: ModelSources): Promise<Place | undefined> {
  const { provider, baseUrl, isLocal } = order;
  const vendor = provider === undefined ? undefined : vendorNamed(provider, baseUrl, sources);
  if (isLocal) return localPlace(vendor, sources);
  if (vendor === undefined && provider !== undefined) return { kind: "address", baseUrl: baseUrl ?? "" };
  if (vendor === undefined) return baseUrl === undefined ? undefined : { kind: "address", baseUrl };
  if (!vendor.isLocal || baseUrl !== undefined) return { kind: "vendor", vendor };
  const server = (await localServers(sources.env)).find(({ kind }) => kind === vendor.name);
  return server === undefined ? { kind: "vendor", vendor } : { kind: "local", server };
}

/** Throws `Cancelled`. */
export async function askPlace(
  sources: ModelSources,
  present: ModelIdentity | undefined,
  io: Terminal,
): Promise<Place> {
  io.note("Looking for model servers on this machine ...\n");
  const servers = await localServers(sources.env);
  const vendors = allVendors(sources.config).filter(({ isLocal }) => !isLocal);
  const rows: (readonly [label: string, place: Place])[] = [
    ...servers.map((server) => [serverLabel(server, sources), { kind: "local", server }] as const),
    ...vendors.map((vendor) => [vendorLabel(vendor, sources), { kind: "vendor", vendor }] as const),
    ["Another server, by its address", { kind: "address", baseUrl: "" }],
    [
      present === undefined ? "Nowhere yet" : `As it is: ${present.model}, by ${present.provider}`,
      { kind: "nothing" },
    ],
  ];
  const labels = rows.map(([label]) => oneLine(label, LABEL_CHARS));
  const preselected =
    present === undefined
      ? best(
          rows.map(([, place]) => place),
          sources,
        )
      : rows.length - 1;
  const index = await choose(io, { title: WHERE, labels, preselected });
  io.note(`${WHERE} ${labels[index] ?? ""}\n`);
  return rows[index]?.[1] ?? { kind: "nothing" };
}

/** For programs and pipes: they have to say what they want. */
export function refuseToChoose(sources: ModelSources): never {
  const names = allVendors(sources.config).map(({ name }) => name);
  throw new CommandFailure("There is nobody to ask where the model runs.", {
    exitCode: 2,
    hint:
      "Name it: hermes setup --provider <name> --model <model> --key-env <variable> --yes, or hermes setup --local --yes. " +
      `Providers: ${names.join(", ")}.`,
    details: { kind: "usage", providers: names },
  });
}

/** What needs no key before what has one, and that before what needs one. */
function best(places: readonly Place[], { env }: ModelSources): number {
  const local = places.findIndex((place) => place.kind === "local" && place.server.models.length > 0);
  if (local >= 0) return local;
  const ready = places.findIndex(
    (place) => place.kind === "vendor" && keyVariable(place.vendor, env) !== undefined,
  );
  return Math.max(0, ready);
}

async function localPlace(vendor: Vendor | undefined, sources: ModelSources): Promise<Place> {
  if (vendor !== undefined && !vendor.isLocal)
    throw new CommandFailure(
      `'${vendor.name}' is no server of this machine. Leave out --local, or --provider.`,
      {
        exitCode: 2,
        details: { kind: "usage" },
      },
    );
  const servers = await localServers(sources.env);
  const wanted = vendor === undefined ? servers : servers.filter(({ kind }) => kind === vendor.name);
  const server = wanted.find(({ models }) => models.length > 0) ?? wanted[0];
  if (server !== undefined) return { kind: "local", server };
  const usual = allVendors(sources.config).filter(({ isLocal }) => isLocal);
  const looked = (vendor === undefined ? usual : [vendor]).map(
    ({ label, baseUrl }) => `${label} (${baseUrl})`,
  );
  throw new CommandFailure(`No model server answers on this machine. Looked for ${looked.join(", ")}.`, {
    hint: "Start it and try again, or say where it is with --base-url.",
    details: { kind: "no_server" },
  });
}

/** By its name or another one it goes by; undefined for `custom`. Ends the command when there is no such provider. */
function vendorNamed(name: string, baseUrl: string | undefined, sources: ModelSources): Vendor | undefined {
  const vendors = allVendors(sources.config);
  const plain = vendors.find((vendor) => vendor.name === name.toLowerCase() || vendor.label === name);
  if (plain !== undefined) return plain;
  const flags = { provider: name, model: "any", baseUrl: baseUrl ?? "http://127.0.0.1:1/v1" };
  const resolved = resolveModel({ env: {}, config: sources.config }, flags);
  if (!resolved.ok) throw choiceFailure(resolved.error, 2);
  return vendors.find((vendor) => vendor.name === resolved.value.identity.provider);
}

function serverLabel({ kind, baseUrl, models }: LocalServer, { config }: ModelSources): string {
  const label = allVendors(config).find(({ name }) => name === kind)?.label ?? kind;
  return `${label} at ${baseUrl} - ${models.length === 0 ? "no model yet" : counted(models.length, "model")}`;
}

function vendorLabel(vendor: Vendor, { env }: ModelSources): string {
  if (vendor.isOwn) return `${vendor.label} at ${vendor.baseUrl} - from config.yaml`;
  const variable = keyVariable(vendor, env);
  return `${vendor.label} - ${variable === undefined ? "needs a key" : `key in ${variable}`}`;
}
