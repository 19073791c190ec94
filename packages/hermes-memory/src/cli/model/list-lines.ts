// The list of models as a person reads it.
import type { ModelIdentity } from "@hermes-memory/agent/models";
import type { Paint } from "../command.ts";
import { counted, oneLine } from "../printing.ts";

export type ListedServer = {
  readonly provider: string;
  readonly baseUrl: string;
  /** A server beyond this machine is asked only when it is named. */
  readonly isAsked: boolean;
  /** Undefined when it did not say. */
  readonly models: readonly string[] | undefined;
};

export type ListedVendor = {
  readonly name: string;
  readonly label: string;
  readonly isLocal: boolean;
  readonly baseUrl: string;
  readonly variables: readonly string[];
  /** What the key is in: a variable, or config.yaml. */
  readonly keyIn: string | undefined;
  readonly models: readonly string[];
};

export type ModelList = {
  readonly current: ModelIdentity | undefined;
  readonly servers: readonly ListedServer[];
  readonly vendors: readonly ListedVendor[];
};

import { addressText, modelText } from "./resolution.ts";

const NAME_CHARS = 100;
/** A gateway has hundreds; `--json` prints them all. */
const MOST_MODELS = 100;

export function listLines(list: ModelList, paint: Paint): string[] {
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
