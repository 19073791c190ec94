// Which memory providers there are: those that come with the program, then those in `<home>/plugins`. No plugin's code runs.
import { statSync } from "node:fs";
import { join } from "node:path";
import { describeCause, namesIn } from "../../lib/index.ts";
import { BUNDLED_PROVIDERS, type BundledProvider } from "./bundled.ts";
import type { FoundProvider, FoundProviders } from "./found.ts";
import { inspectPlugin } from "./inspect.ts";
import { activeProviderName, isProviderName } from "./names.ts";

export function pluginsDirectory(home: string): string {
  return join(home, "plugins");
}

export async function findProviders(home: string): Promise<FoundProviders> {
  const bundled = BUNDLED_PROVIDERS.map(toFound).sort(byName);
  const { directories, warnings } = listDirectories(pluginsDirectory(home));
  const users: FoundProvider[] = [];
  for (const name of directories) {
    const directory = join(pluginsDirectory(home), name);
    const inspected = await inspectPlugin(directory, name);
    const obstacle = inspected.found && obstacleOf(name, directory);
    if (obstacle !== undefined) warnings.push(obstacle);
    else {
      warnings.push(...inspected.warnings);
      if (inspected.found) users.push(inspected.found);
    }
  }
  return { providers: [...bundled, ...users.sort(byName)], warnings };
}

export async function findProvider(home: string, name: string): Promise<FoundProvider | undefined> {
  return (await lookUp(home, name))?.found;
}

/** A provider and where its code is. */
export type LookedUp =
  | { readonly found: FoundProvider; readonly bundled: BundledProvider }
  | { readonly found: FoundProvider; readonly entry?: string };

export async function lookUp(home: string, name: string): Promise<LookedUp | undefined> {
  if (!isProviderName(name) || activeProviderName(name) === "") return undefined;
  const bundled = BUNDLED_PROVIDERS.find((provider) => provider.name === name);
  if (bundled) return { found: toFound(bundled), bundled };
  const { found, entry } = await inspectPlugin(join(pluginsDirectory(home), name), name);
  return found && { found, ...(entry === undefined ? {} : { entry }) };
}

function toFound({ name, manifest }: BundledProvider): FoundProvider {
  return { name, source: "bundled", manifest };
}

/** Why a memory provider in this directory can never be selected. */
function obstacleOf(name: string, directory: string): string | undefined {
  if (!isProviderName(name))
    return `${directory} is passed over: a provider's name has only letters, digits, '.', '_' and '-'. Rename the directory.`;
  if (activeProviderName(name) === "")
    return `${directory} is passed over: '${name}' stands for the built-in memory. Rename the directory.`;
  if (BUNDLED_PROVIDERS.some((provider) => provider.name === name))
    return `${directory} is passed over: a bundled provider has the same name. Rename the directory to use yours.`;
  return undefined;
}

function listDirectories(parent: string): { directories: string[]; warnings: string[] } {
  const warnings: string[] = [];
  const isDirectory = (name: string): boolean => {
    const path = join(parent, name);
    try {
      return statSync(path).isDirectory(); // follows links: a plugin under development is often one
    } catch (cause) {
      warnings.push(`Cannot look into ${path}: ${describeCause(cause)}. It is passed over.`);
      return false;
    }
  };
  try {
    const names = namesIn(parent).filter((name) => !/^[._]/.test(name));
    return { directories: names.filter(isDirectory), warnings };
  } catch (cause) {
    const warning = `Cannot read ${parent}: ${describeCause(cause)}. Only bundled providers are known.`;
    return { directories: [], warnings: [warning] };
  }
}

function byName(one: FoundProvider, other: FoundProvider): number {
  if (one.name === other.name) return 0;
  return one.name < other.name ? -1 : 1;
}
