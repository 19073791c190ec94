// The provider a command is about: the one that was named, or the active one.
import { nearest } from "@hermes-memory/core/config";
import {
  activeProviderName,
  type FoundProvider,
  findProvider,
  findProviders,
  isOwnFault,
  type LoadedProvider,
  type LoadFailure,
  loadProvider,
  recordAvailability,
} from "@hermes-memory/core/providers";
import { type CommandContext, CommandFailure } from "../../command.ts";

/** "" when there is none. */
export async function activeName(context: CommandContext): Promise<string> {
  return activeProviderName((await context.memory.memoryConfig()).provider);
}

/** The name that was given, else the active one. Ends the command when there is neither. */
export async function namedOrActive(given: string | undefined, context: CommandContext): Promise<string> {
  const name = given ?? (await activeName(context));
  if (name !== "") return name;
  throw new CommandFailure("No external memory provider is active.", {
    hint: "Choose one with 'hermes memory setup'; 'hermes memory providers' lists what there is.",
    details: { kind: "no-provider" },
  });
}

/** Looks without running anything of it. Ends the command when there is no such provider. */
export async function findWanted(home: string, name: string): Promise<FoundProvider> {
  const found = await findProvider(home, name);
  if (found !== undefined && found.problem === undefined) return found;
  const refused = await loadProvider(home, name); // refuses before it loads anything, and knows why
  if (refused.ok) return refused.value.found;
  throw await loadFailure(home, name, refused.error);
}

/** A plugin that fails in its own code is remembered as such: `status` runs none of it and could not know. */
export async function loadWanted(
  home: string,
  name: string,
  askedBy: "setup" | "test",
): Promise<LoadedProvider> {
  const loaded = await loadProvider(home, name);
  if (loaded.ok) return loaded.value;
  if (isOwnFault(loaded.error))
    recordAvailability(home, name, { available: false, reason: loaded.error.message }, askedBy);
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
    ...(meant === undefined ? {} : { hint: `Did you mean '${meant}'?` }),
  });
}
