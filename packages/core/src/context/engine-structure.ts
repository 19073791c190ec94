// Is this value a context engine? Decided by its members: a plugin has no class of ours to inherit from.
import { err, ok, pyStrip, type Result } from "../lib/index.ts";
import { type ContextEngine, ENGINE_CONTRACT } from "./engine.ts";

type Kind = "number" | "required" | "optional";

const MEMBERS: Readonly<Record<Exclude<keyof ContextEngine, "contract" | "name">, Kind>> = {
  lastPromptTokens: "number",
  lastCompletionTokens: "number",
  lastTotalTokens: "number",
  thresholdTokens: "number",
  contextLength: "number",
  compressionCount: "number",
  updateFromResponse: "required",
  shouldCompress: "required",
  compress: "required",
  getStatus: "required",
  shouldDeferPreflightToRealUsage: "optional",
  hasContentToCompress: "optional",
  onCompacted: "optional",
  onSessionStart: "optional",
  onSessionEnd: "optional",
  onSessionReset: "optional",
  carryOverNewSessionContext: "optional",
  getToolSchemas: "optional",
  handleToolCall: "optional",
  updateModel: "optional",
};

/** The error reads on after the name of what was looked at: `has no compress()`. May throw what a getter throws. */
export function checkEngine(value: unknown): Result<ContextEngine, string> {
  if (typeof value !== "object" || value === null) return err("is not an engine object");
  const engine = value as Readonly<Record<string, unknown>>;
  const { contract = 1, name } = engine;
  if (typeof contract !== "number" || !Number.isInteger(contract) || contract < 1)
    return err("has a 'contract' that is no version number");
  if (contract > ENGINE_CONTRACT)
    return err(
      `is made for version ${contract} of the engine contract, and this program knows version ${ENGINE_CONTRACT}; update hermes-memory, or use an older version of the plugin`,
    );
  if (typeof name !== "string" || pyStrip(name) === "") return err("has no 'name'");
  const faults = Object.entries(MEMBERS).map(([member, kind]) => faultOf(engine, member, kind));
  const found = faults.filter((fault) => fault !== "");
  // Every member was looked at above; what the methods give back is checked by whoever calls them.
  return found.length > 0 ? err(found.join(", ")) : ok(value as ContextEngine);
}

/** Has a method of the contract, in either spelling. Tells an engine's class from others without making one. */
export function resemblesEngine(prototype: unknown): boolean {
  if (typeof prototype !== "object" || prototype === null) return false;
  const methods = Object.entries(MEMBERS).filter(([, kind]) => kind === "required");
  return methods.some(([name]) => name in prototype || snakeCase(name) in prototype);
}

function faultOf(engine: Readonly<Record<string, unknown>>, member: string, kind: Kind): string {
  const value = engine[member] ?? undefined;
  if (kind === "number") return typeof value === "number" ? "" : `has no number '${member}'`;
  if (typeof value === "function") return "";
  if (value !== undefined) return `has a '${member}' that is no function`;
  const other = snakeCase(member);
  // Left alone, it would never be called, and nobody would know why.
  if (other !== member && typeof engine[other] === "function")
    return `has ${other}(), but the contract calls it ${member}()`;
  return kind === "required" ? `has no ${member}()` : "";
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
