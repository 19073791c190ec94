// The provider that a command is about: the one that was named, or the active one.
import { nearest } from "@hermes-memory/core/internal/config";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { type Home, ifUsable } from "@hermes-memory/core/internal/memory";
import {
  activeProviderName,
  type FoundProvider,
  fieldsOf,
  findProvider,
  findProviders,
  isOwnFault,
  type LoadedProvider,
  type LoadFailure,
  loadProvider,
  recordAvailability,
  setupHint,
} from "@hermes-memory/core/internal/providers";
import { type CommandContext, CommandFailure } from "../../command.ts";

/** "" when no provider is active. */
export async function activeName(context: CommandContext): Promise<string> {
  return activeProviderName((await context.memory.memoryConfig()).provider);
}

/** Ends the command when no name was given and no provider is active. */
export async function namedOrActive(given: string | undefined, context: CommandContext): Promise<string> {
  const name = given ?? (await activeName(context));
  if (name !== "") return name;
  throw new CommandFailure("No external memory provider is active.", {
    hint: "Choose one with 'hermes memory setup'; 'hermes memory providers' lists what there is.",
    details: { kind: "no-provider" },
  });
}

/** Runs none of its code. Ends the command when there is no such provider. */
export async function findNamed(home: string, name: string): Promise<FoundProvider> {
  const found = await findProvider(home, name);
  if (found !== undefined && found.problem === undefined) return found;
  const refused = await loadProvider(home, name); // fails before it loads code, with the reason
  if (refused.ok) return refused.value.found;
  throw await loadFailure(home, name, refused.error);
}

/** Records a plugin whose own code fails: `status`, which does not run that code, shows it. */
export async function loadNamed(
  home: string,
  name: string,
  command: "setup" | "test",
): Promise<LoadedProvider> {
  const loaded = await loadProvider(home, name);
  if (loaded.ok) return loaded.value;
  if (isOwnFault(loaded.error))
    recordAvailability(home, name, { available: false, reason: loaded.error.message }, command);
  throw await loadFailure(home, name, loaded.error);
}

async function loadFailure(
  home: string,
  name: string,
  { kind, message }: LoadFailure,
): Promise<CommandFailure> {
  const names = (await findProviders(home)).providers.map((provider) => provider.name);
  const meant = kind === "not-found" ? nearest(name, names) : undefined;
  return new CommandFailure(message, {
    details: { kind, provider: name },
    hint: meant === undefined ? undefined : `Did you mean '${meant}'?`,
  });
}

export type Settings = Readonly<Record<string, unknown>>;

/** `memory.<name>` of config.yaml; empty when the file cannot be used. */
export async function providerSection(memory: Home, name: string): Promise<Settings> {
  const sections = (await ifUsable(memory.config()))?.raw.memory;
  const section = isRecord(sections) && Object.hasOwn(sections, name) ? sections[name] : undefined;
  return isRecord(section) ? section : {};
}

/** The settings that setup asks for. For a user's plugin, whose code runs only once it is chosen, its description. */
export async function hintOf(home: string, { name, source, manifest }: FoundProvider): Promise<string> {
  if (source === "user") return manifest.description === "" ? "your plugin" : manifest.description;
  const loaded = await loadProvider(home, name);
  return loaded.ok ? setupHint(fieldsOf(loaded.value.provider).fields) : "cannot be loaded";
}
