// Values that are passed over instead of refused when a file is read: the reference does so, and a home that works there has
// to work here. `check` points them out, and `set` does not write them.
import { shown } from "./config-error.ts";

export const CACHE_TTLS = ["5m", "1h"] as const;
export type CacheTtl = (typeof CACHE_TTLS)[number];

export type IgnoredValue = {
  readonly path: readonly string[];
  /** Reads on after the key: `must be ...`. */
  readonly allowed: string;
  /** As a message shows it. */
  readonly found: string;
};

/** A whole number above 0; anything else, `256K` for one, is nothing. */
export function countOrNothing(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** What is in the file, but does not count. */
export function ignoredValues(raw: Readonly<Record<string, unknown>>): readonly IgnoredValue[] {
  const { model, compression, prompt_caching: caching, auxiliary, custom_providers: providers } = raw;
  const count = "must be a whole number above 0, such as 256000";
  const limit = "must be a whole number above 0";
  const ttl = `must be ${CACHE_TTLS.join(" or ")}`;
  return [
    ...ignored(["model", "context_length"], at(model, "context_length"), isCount, count),
    ...ignored(
      ["auxiliary", "compression", "context_length"],
      at(at(auxiliary, "compression"), "context_length"),
      isCount,
      count,
    ),
    ...(Array.isArray(providers) ? providers : []).flatMap((provider: unknown, index) =>
      Object.entries(asRecord(at(provider, "models"))).flatMap(([name, about]) => {
        const path = ["custom_providers", String(index), "models", name, "context_length"];
        return ignored(path, at(about, "context_length"), isCount, count);
      }),
    ),
    ...ignored(
      ["compression", "hygiene_hard_message_limit"],
      at(compression, "hygiene_hard_message_limit"),
      isCount,
      limit,
    ),
    ...ignored(["prompt_caching", "cache_ttl"], at(caching, "cache_ttl"), isTtl, ttl),
  ];
}

function ignored(
  path: readonly string[],
  value: unknown,
  isUsable: (value: unknown) => boolean,
  allowed: string,
): readonly IgnoredValue[] {
  if (value === undefined || value === null || isUsable(value)) return [];
  return [{ path, allowed, found: shown(value) }];
}

function isCount(value: unknown): boolean {
  return countOrNothing(value) !== undefined;
}

function isTtl(value: unknown): boolean {
  return CACHE_TTLS.some((ttl) => ttl === value);
}

function at(holder: unknown, key: string): unknown {
  const record = asRecord(holder);
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
