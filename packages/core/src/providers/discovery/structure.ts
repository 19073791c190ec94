// Is this value a memory provider? Decided by its members: a plugin outside of this package has no class to inherit from.
import { err, ok, pyStrip, type Result } from "../../lib/index.ts";
import { type MemoryProvider, PROVIDER_CONTRACT } from "../contract.ts";
import { describeForeign } from "./foreign-code.ts";

export type StructureFault = {
  readonly kind: "no-provider" | "wrong-contract";
  /** Reads on after the name of what was looked at: `has no isAvailable()`. */
  readonly message: string;
};

type Method = Exclude<keyof MemoryProvider, "contract" | "name">;

const METHODS: Readonly<Record<Method, "required" | "optional">> = {
  isAvailable: "required",
  initialize: "required",
  getToolSchemas: "required",
  unavailableReason: "optional",
  systemPromptBlock: "optional",
  prefetch: "optional",
  queuePrefetch: "optional",
  syncTurn: "optional",
  handleToolCall: "optional",
  onTurnStart: "optional",
  onSessionEnd: "optional",
  onSessionSwitch: "optional",
  onPreCompress: "optional",
  onMemoryWrite: "optional",
  forget: "optional",
  onDelegation: "optional",
  shutdown: "optional",
  getConfigSchema: "optional",
  saveConfig: "optional",
  postSetup: "optional",
  readConfig: "optional",
  selfTest: "optional",
};

const METHOD_NAMES = Object.keys(METHODS);

export function isMemoryProvider(value: unknown): value is MemoryProvider {
  return checkProvider(value).ok;
}

/** Asks the provider for its tools once, as registration does: with tools it also needs a way to call them. */
export function checkProvider(value: unknown): Result<MemoryProvider, StructureFault> {
  if (typeof value !== "object" || value === null) return fault(`is ${kindOf(value)}, not a provider object`);
  try {
    return check(value as Readonly<Record<string, unknown>>);
  } catch (cause) {
    return fault(`cannot be looked at: ${describeForeign(cause)}`);
  }
}

/** Has at least one method of the contract, in either spelling. Tells a provider's class from others without making one. */
export function resemblesProvider(prototype: unknown): boolean {
  if (typeof prototype !== "object" || prototype === null) return false;
  return METHOD_NAMES.some((name) => name in prototype || snakeCase(name) in prototype);
}

function check(value: Readonly<Record<string, unknown>>): Result<MemoryProvider, StructureFault> {
  const { contract = 1, name } = value;
  if (typeof contract !== "number" || !Number.isInteger(contract) || contract < 1)
    return fault("has a 'contract' that is no version number");
  if (contract > PROVIDER_CONTRACT) {
    const message =
      `is made for version ${contract} of the provider contract, and this program knows version ${PROVIDER_CONTRACT}. ` +
      "Update hermes-memory, or use an older version of the plugin";
    return err({ kind: "wrong-contract", message });
  }
  if (typeof name !== "string" || pyStrip(name) === "") return fault("has no 'name'");
  if (name === "builtin") return fault("calls itself 'builtin', which is reserved");

  const faults = METHOD_NAMES.map((method) => methodFault(value, method)).filter((text) => text !== "");
  if (faults.length > 0) return fault(faults.join(", "));
  // Every member was looked at above; what the methods give back is checked by whoever calls them.
  const provider = value as unknown as MemoryProvider;
  if (provider.handleToolCall == null && offersTools(provider))
    return fault("offers tools, but has no handleToolCall()");
  return ok(provider);
}

function methodFault(value: Readonly<Record<string, unknown>>, method: string): string {
  const member = value[method] ?? undefined;
  if (typeof member === "function") return "";
  if (member !== undefined) return `has a '${method}' that is no function`;
  const other = snakeCase(method);
  // Left alone, it would never be called, and nobody would know why.
  if (other !== method && typeof value[other] === "function")
    return `has ${other}(), but the contract calls it ${method}()`;
  return METHODS[method as Method] === "required" ? `has no ${method}()` : "";
}

function offersTools(provider: MemoryProvider): boolean {
  try {
    const schemas: unknown = provider.getToolSchemas();
    return Array.isArray(schemas) && schemas.length > 0;
  } catch {
    return false; // before `initialize` that is allowed, and means no tools
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  return typeof value === "function" ? "a function or class" : `a ${typeof value}`;
}

function fault(message: string): { ok: false; error: StructureFault } {
  return err({ kind: "no-provider", message });
}
