// A provider as the manager took it. Its name is read once: what a plugin computes may differ the next time, or throw.
import { err, ok, type Result } from "../../lib/index.ts";
import { type MemoryProvider, PROVIDER_CONTRACT } from "../contract.ts";

export type Hook = Exclude<keyof MemoryProvider, "contract" | "name">;

export type Registered = { readonly name: string; readonly provider: MemoryProvider };

export const BUILTIN = "builtin";

/** The built-in slot and one external provider; the reason when this one cannot be taken. */
export function admit(provider: MemoryProvider, present: readonly Registered[]): Result<Registered, string> {
  const seen = lookAt(provider);
  if (seen === undefined) return err("A memory provider without a readable name was not taken.");
  const { name, contract } = seen;
  if (contract > PROVIDER_CONTRACT)
    return err(
      `The memory provider '${name}' needs version ${contract} of the provider contract; this program has ${PROVIDER_CONTRACT}. Update hermes-memory.`,
    );
  if (present.some((other) => other.name === name))
    return err(`The memory provider '${name}' is registered already.`);
  const external = present.find((other) => other.name !== BUILTIN);
  if (name === BUILTIN || !external) return ok({ name, provider });
  return err(
    `The memory provider '${name}' was not taken: '${external.name}' is active, and there can be only one. Choose with memory.provider in config.yaml.`,
  );
}

/** A member that throws when it is looked at counts as there: the guarded call then finds out and says so. */
export function hasHook({ provider }: Registered, hook: Hook): boolean {
  try {
    return (provider[hook] ?? undefined) !== undefined;
  } catch {
    return true;
  }
}

/** Undefined without a usable name. A contract that is no number counts as the first. */
function lookAt(provider: MemoryProvider): { readonly name: string; readonly contract: number } | undefined {
  try {
    const { name, contract }: { readonly name: unknown; readonly contract?: unknown } = provider;
    if (typeof name !== "string" || name === "") return undefined;
    return { name, contract: typeof contract === "number" ? contract : PROVIDER_CONTRACT };
  } catch {
    return undefined; // no object at all, or one whose members throw
  }
}
