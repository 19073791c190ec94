// Which names select a provider, and which mean that there is none.
import { pyStrip } from "../../lib/index.ts";

const PROVIDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const NO_PROVIDER = ["", "builtin", "built-in", "none"];

/** `memory.provider` as it is meant: trimmed, and "" for every way of saying "built-in memory only". */
export function activeProviderName(configValue: string): string {
  const name = pyStrip(configValue);
  return NO_PROVIDER.includes(name.toLowerCase()) ? "" : name;
}

/** A name becomes part of a path, so it may hold nothing that leads elsewhere. */
export function isProviderName(name: string): boolean {
  return PROVIDER_NAME.test(name);
}
