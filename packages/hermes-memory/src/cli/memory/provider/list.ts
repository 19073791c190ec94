// `hermes memory providers`: what there is to choose from. No code of a user's plugin runs.

import { resolve } from "node:path";
import { useEnvFile } from "@hermes-memory/core/config";
import {
  type Availability,
  checkAvailability,
  type FoundProvider,
  findProviders,
  loadProvider,
} from "@hermes-memory/core/providers";
import type { CommandBody, Paint } from "../../command.ts";
import { oneLine, printable } from "../../printing.ts";
import { activeName } from "./wanted.ts";

export type ListedProvider = {
  readonly name: string;
  readonly source: FoundProvider["source"];
  readonly description: string;
  readonly active: boolean;
  readonly directory?: string;
  readonly problem?: string;
};

export const providers: CommandBody = async (_input, context) => {
  const home = resolve(context.home.home);
  const active = await activeName(context);
  const { providers: all, warnings } = await findProviders(home);
  useEnvFile(home);
  const rows: (ListedProvider & Partial<Availability>)[] = [];
  for (const found of all) rows.push({ ...listed(found, active), ...(await availabilityOf(home, found)) });
  const isKnown = active === "" || rows.some(({ name }) => name === active);
  context.io.endWithoutWaiting();
  return {
    json: { active: active === "" ? null : active, providers: rows, warnings },
    lines: listLines(rows, context.io.paint),
    notes: [
      ...warnings.map((warning) => `warning: ${printable(warning)}`),
      ...(isKnown ? [] : [printable(`memory.provider is '${active}', which is not installed.`)]),
    ],
  };
};

export function listed(
  { name, source, manifest, directory, problem }: FoundProvider,
  active: string,
): ListedProvider {
  return {
    name,
    source,
    description: manifest.description,
    active: name === active,
    ...(directory === undefined ? {} : { directory }),
    ...(problem === undefined ? {} : { problem }),
  };
}

export function listLines(rows: readonly (ListedProvider & Partial<Availability>)[], paint: Paint): string[] {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows.map(({ name, source, description, active, problem, available, reason }) => {
    const trouble =
      problem ?? (available === false ? `not available: ${reason ?? "no reason given"}` : undefined);
    const about = trouble === undefined ? oneLine(description, 100) : paint("yellow", oneLine(trouble, 200));
    return `${active ? "*" : " "} ${name.padEnd(width)}  ${source.padEnd(7)}  ${about}`.trimEnd();
  });
}

/** Of bundled providers only: asking a user's plugin would run its code. */
async function availabilityOf(home: string, { name, source }: FoundProvider): Promise<Partial<Availability>> {
  if (source !== "bundled") return {};
  const loaded = await loadProvider(home, name);
  return loaded.ok
    ? checkAvailability(loaded.value.provider)
    : { available: false, reason: loaded.error.message };
}
