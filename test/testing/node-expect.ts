// An `expect` on node:util, for running a contract suite with node:test, which has none: the matchers that `Expect` names.
import { inspect, isDeepStrictEqual } from "node:util";
import type { Expect } from "../../packages/core/testing/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: each matcher knows what it compares, and the caller's types are those of `Expect`
type Check = (actual: any, expected: any) => boolean;

const CHECKS = {
  toBe: (actual, expected) => Object.is(actual, expected),
  toBeDefined: (actual) => actual !== undefined,
  toBeGreaterThan: (actual, bound) => actual > bound,
  toBeGreaterThanOrEqual: (actual, bound) => actual >= bound,
  toBeLessThan: (actual, bound) => actual < bound,
  toBeLessThanOrEqual: (actual, bound) => actual <= bound,
  toBeNull: (actual) => actual === null,
  toBeUndefined: (actual) => actual === undefined,
  toContain: (actual, item) => actual.includes(item),
  toContainEqual: (actual, item) => actual.some((each: unknown) => isEqual(each, item)),
  toEqual: (actual, expected) => isEqual(actual, expected),
  toHaveLength: (actual, length) => actual.length === length,
  toHaveProperty: (actual, name) => name in actual,
  toMatch: (actual, pattern) =>
    typeof pattern === "string" ? actual.includes(pattern) : pattern.test(actual),
  toMatchObject: (actual, expected) => isEqual(actual, expected, true),
} satisfies Record<string, Check>;

export const expect: Expect = (actual) => {
  const here = (check: Check, name: string, isNot: boolean) => (expected?: unknown) =>
    demand(check(actual, expected) !== isNot, { name, actual, expected, isNot });
  return {
    ...matchers((check, name) => here(check, name, false)),
    toThrow: (message) =>
      demand(isThrown(thrownBy(actual), message), { name: "toThrow", actual, expected: message }),
    not: {
      ...matchers((check, name) => here(check, name, true)),
      toThrow: () => demand(thrownBy(actual) === undefined, { name: "toThrow", actual, isNot: true }),
    },
    rejects: {
      ...matchers((check, name) => async (expected?: unknown) => {
        const cause = await rejectionOf(actual);
        demand(check(cause, expected), { name, actual: cause, expected });
      }),
      toThrow: async (message?: string | RegExp) => {
        const cause = await rejectionOf(actual);
        demand(isThrown({ cause }, message), { name: "toThrow", actual: cause, expected: message });
      },
    },
  };
};

function matchers<Matcher>(
  make: (check: Check, name: string) => Matcher,
): Record<keyof typeof CHECKS, Matcher> {
  const entries = Object.entries(CHECKS).map(([name, check]) => [name, make(check, name)]);
  return Object.fromEntries(entries) as Record<keyof typeof CHECKS, Matcher>;
}

type Demand = {
  readonly name: string;
  readonly actual: unknown;
  readonly expected?: unknown;
  readonly isNot?: boolean;
};

function demand(isMet: boolean, { name, actual, expected, isNot = false }: Demand): void {
  if (!isMet) throw new Error(`${inspect(actual)}: ${isNot ? "not " : ""}${name} ${inspect(expected)}`);
}

/** As Jest compares: a property that is undefined is the same as none. */
function isEqual(actual: unknown, expected: unknown, isPartial = false): boolean {
  if (!isTree(actual) || !isTree(expected)) return isDeepStrictEqual(actual, expected);
  if (Array.isArray(actual) !== Array.isArray(expected)) return false;
  if (Array.isArray(actual) && Array.isArray(expected) && actual.length !== expected.length) return false;
  const keys = [...Object.keys(expected), ...(isPartial ? [] : Object.keys(actual))];
  return keys.every((key) => isEqual(actual[key], expected[key], isPartial));
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !(value instanceof Set) && !(value instanceof Map);
}

function thrownBy(call: unknown): { readonly cause: unknown } | undefined {
  try {
    (call as () => unknown)();
    return undefined;
  } catch (cause) {
    return { cause };
  }
}

function isThrown(thrown: { readonly cause: unknown } | undefined, message?: string | RegExp): boolean {
  return thrown !== undefined && (message === undefined || CHECKS.toMatch(String(thrown.cause), message));
}

async function rejectionOf(promise: unknown): Promise<unknown> {
  const [outcome] = await Promise.allSettled([promise]);
  if (outcome.status === "fulfilled") throw new Error("the promise did not reject");
  return outcome.reason;
}
