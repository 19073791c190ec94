// The key of the chosen place: given, there already, or typed unseen. No text of it is ever shown but the end of an old one.
import { isLoopback, parseBaseUrl } from "@hermes-memory/agent/models";
import { maskSecret } from "@hermes-memory/core/providers";
import { CommandFailure, type Terminal } from "../command.ts";
import { type ModelSources, resolveModel, withoutChoice } from "../model/resolution.ts";
import type { Vendor } from "../model/vendors.ts";
import { oneLine } from "../printing.ts";
import { checkedKey, type SetupOrder } from "./order.ts";
import type { Place } from "./place.ts";

export type KeyAnswer =
  /** None is needed, or the one that is there stays. */
  | { readonly kind: "as-it-is"; readonly note?: string }
  /** A vendor's: for .env. */
  | { readonly kind: "variable"; readonly variable: string; readonly value: string; readonly note?: string }
  /** Of a server of the user's own: no variable belongs to it, so it goes beside its address. */
  | { readonly kind: "config"; readonly value: string; readonly note?: string };

type Asking = {
  readonly order: SetupOrder;
  readonly sources: ModelSources;
  readonly mayAsk: boolean;
  readonly io: Terminal;
};

/** Throws `Cancelled`. Ends the command when a key is needed and nobody can be asked. */
export async function settleKey(place: Place, asking: Asking): Promise<KeyAnswer> {
  const given = await givenKey(asking);
  if (place.kind === "vendor" && place.vendor.variables.length > 0)
    return vendorKey(place.vendor, given, asking);
  if (given !== undefined) return { kind: "config", value: given };
  if (place.kind !== "address" || !asking.mayAsk) return { kind: "as-it-is" };
  return addressKey(place.baseUrl, asking);
}

async function vendorKey(
  vendor: Vendor,
  given: string | undefined,
  { order, sources, mayAsk, io }: Asking,
): Promise<KeyAnswer> {
  const [usual = ""] = vendor.variables;
  const old = keyNow(vendor, order, sources);
  const inEnvironment = vendor.variables.find((name) => (io.env[name] ?? "").trim() !== "");
  const newKey = (value: string): KeyAnswer =>
    // In config.yaml it may go before a variable, so it is exchanged where it is.
    old?.source === "config" ? { kind: "config", value } : { kind: "variable", variable: usual, value };
  if (given !== undefined) {
    const isHidden = inEnvironment !== undefined && io.env[inEnvironment] !== given;
    const note = `${inEnvironment} is set in the environment too, and goes before .env.`;
    return { ...newKey(given), ...(isHidden ? { note } : {}) };
  }
  // What would be typed here could not take its place.
  if (inEnvironment !== undefined && old?.source === inEnvironment)
    return { kind: "as-it-is", note: `${inEnvironment} is set in the environment and is used as it is.` };
  if (mayAsk) {
    const isOptional = old !== undefined; // a server nearby may do without
    const value = await askKey(`Key of ${vendor.label}`, { old: old?.key ?? "", isOptional }, io);
    return value === "" ? { kind: "as-it-is" } : newKey(value);
  }
  if (old !== undefined) return { kind: "as-it-is" };
  throw new CommandFailure(`${vendor.label} needs a key, and ${vendor.variables.join(" or ")} is not set.`, {
    exitCode: 2,
    hint: "Give it with --key-env <variable> or --key-stdin; or run this on a terminal to be asked.",
    details: { kind: "no_key", provider: vendor.name, variables: vendor.variables },
  });
}

/** The key that would be used now, "" where none is needed; undefined when one is missing. */
function keyNow(
  vendor: Vendor,
  { baseUrl }: SetupOrder,
  { env, config }: ModelSources,
): { readonly key: string; readonly source: string } | undefined {
  const flags = { provider: vendor.name, baseUrl, model: "any" };
  const resolved = resolveModel({ env: withoutChoice(env), config }, flags);
  if (!resolved.ok || !resolved.value.hasKey) return undefined;
  const { apiKey, keySource } = resolved.value.chosen;
  return { key: apiKey, source: keySource };
}

async function addressKey(baseUrl: string, { sources, io }: Asking): Promise<KeyAnswer> {
  const { model } = sources.config;
  const old = sameAddress(model.baseUrl, baseUrl) ? model.apiKey : "";
  const base = parseBaseUrl(baseUrl);
  const aid =
    base !== undefined && isLoopback(base) ? "Key of the server, if it wants one" : "Key of the server";
  const value = await askKey(aid, { old, isOptional: true }, io);
  return value === "" ? { kind: "as-it-is" } : { kind: "config", value };
}

/** "" when nothing was typed and nothing has to be. */
async function askKey(
  label: string,
  { old, isOptional }: { readonly old: string; readonly isOptional: boolean },
  io: Terminal,
): Promise<string> {
  const aid =
    old !== ""
      ? `[${maskSecret(old)}, empty keeps it]`
      : `(typed unseen${isOptional ? ", empty for none" : ""})`;
  for (;;) {
    const typed = await io.ask(`${oneLine(label)} ${aid}: `, { isSecret: true });
    const key = checkedKey(typed);
    if (key.ok) return key.value;
    if (typed.trim() === "" && (old !== "" || isOptional)) return "";
    io.note(`The key ${key.error}.\n`);
  }
}

async function givenKey({ order: { keyFrom }, sources, io }: Asking): Promise<string | undefined> {
  if (keyFrom.kind === "nowhere") return undefined;
  const text = keyFrom.kind === "input" ? await pipedKey(io) : (sources.env[keyFrom.name] ?? "");
  const key = checkedKey(text);
  if (key.ok) return key.value;
  const place = keyFrom.kind === "input" ? "from standard input" : `in ${oneLine(keyFrom.name)}`;
  throw new CommandFailure(`The key ${place} ${key.error}.`, { exitCode: 2, details: { kind: "bad_key" } });
}

/** On a terminal nothing is piped in, and what is typed would be seen. */
function pipedKey(io: Terminal): Promise<string> {
  return io.isInteractive ? io.ask("Key (typed unseen): ", { isSecret: true }) : io.readInput();
}

function sameAddress(one: string, other: string): boolean {
  const plain = (text: string): string => text.trim().replace(/\/+$/, "").toLowerCase();
  return plain(one) === plain(other);
}
