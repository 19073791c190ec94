// Loading one provider: its code is imported (once per process) and gives a fresh instance each time.
import { pathToFileURL } from "node:url";
import { err, ok, type Result } from "../../lib/index.ts";
import type { MemoryProvider } from "../contract.ts";
import { type ForeignFailure, type ForeignRules, runForeign } from "./foreign-code.ts";
import type { FoundProvider, LoadedProvider, LoadFailure } from "./found.ts";
import { instantiate } from "./instantiate.ts";
import { isProviderName } from "./names.ts";
import { findProviders, type LookedUp, lookUp, pluginsDirectory } from "./scan.ts";
import type { StructureFault } from "./structure.ts";

export const LOAD_TIMEOUT_MS = 10_000;

export type LoadOptions = Partial<ForeignRules>;

export async function loadProvider(
  home: string,
  name: string,
  options: LoadOptions = {},
): Promise<Result<LoadedProvider, LoadFailure>> {
  if (!isProviderName(name)) {
    const message = `'${name}' cannot be the name of a memory provider: letters, digits, '.', '_' and '-', starting with a letter or digit.`;
    return err({ kind: "bad-name", message });
  }
  const looked = await lookUp(home, name);
  if (looked === undefined) return err(await notFound(home, name));
  const { found } = looked;
  if (found.problem !== undefined)
    return err({ kind: "not-loadable", message: `Cannot load '${name}'. ${found.problem}` });

  const rules: ForeignRules = { timeoutMs: LOAD_TIMEOUT_MS, ...options };
  const loaded = await runForeign(rules, () => providerOf(looked));
  if (!loaded.ok) return err(importFailed(looked, loaded.error));
  const provider = loaded.value;
  return provider.ok ? ok({ found, provider: provider.value }) : err(noProvider(found, provider.error));
}

/** Its own code is at fault, which nobody can tell without running it. The other failures show from outside. */
export function isOwnFault({ kind }: LoadFailure): boolean {
  return kind === "import-failed" || kind === "no-provider" || kind === "wrong-contract";
}

/** A plugin's module, which Node runs at the first import and then remembers. TypeScript is stripped by Node itself. */
export function importFile(path: string): Promise<unknown> {
  return import(/* @vite-ignore */ pathToFileURL(path).href);
}

async function providerOf(looked: LookedUp): Promise<Result<MemoryProvider, StructureFault>> {
  if ("bundled" in looked) return ok((await looked.bundled.load())());
  return instantiate(await importFile(looked.entry ?? ""));
}

async function notFound(home: string, name: string): Promise<LoadFailure> {
  const names = (await findProviders(home)).providers.map((provider) => provider.name).join(", ");
  const message =
    `There is no memory provider '${name}'. There are: ${names}. ` +
    `A plugin of your own belongs into ${pluginsDirectory(home)}, in a directory of its name.`;
  return { kind: "not-found", message };
}

function importFailed(looked: LookedUp, { message, code }: ForeignFailure): LoadFailure {
  const { name } = looked.found;
  const entry = "entry" in looked ? looked.entry : undefined;
  return {
    kind: "import-failed",
    message: `Loading '${name}' ${message}. ${remedy(name, entry ?? "", code)}`,
  };
}

function remedy(name: string, entry: string, code: string | undefined): string {
  switch (code) {
    case "SyntaxError":
    case "ERR_INVALID_TYPESCRIPT_SYNTAX":
      return `Repair the plugin; 'node "${entry}"' shows the line.`;
    case "ERR_MODULE_NOT_FOUND":
    case "MODULE_NOT_FOUND":
      return `'hermes memory setup ${name} --yes' installs the packages that its plugin.yaml names; other files are missing from the plugin.`;
    case "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING":
      return "Node runs no TypeScript inside node_modules: copy the plugin instead of linking it, or use its JavaScript.";
    case "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX":
      return "Node only strips types: enums, namespaces and parameter properties need a build to JavaScript.";
    default:
      return "Repair the plugin, or choose another provider with 'hermes memory setup'.";
  }
}

function noProvider({ name }: FoundProvider, { kind, message }: StructureFault): LoadFailure {
  if (kind === "wrong-contract") return { kind, message: `Cannot use '${name}': ${message}.` };
  return {
    kind,
    message: `The plugin '${name}' gives no memory provider: ${message}. See docs/providers.md for what it has to export.`,
  };
}
