// The functions that the contract suites need of a test runner. `{ describe, it, expect }` of vitest, Jest and Bun fit as they are; node:test has no
// `expect` and needs one beside it. The suites pass no message to `expect` (Jest refuses a second argument) and no argument to the
// functions they hand to `it` (Jest would wait for it to be called), and they clean up after each test themselves.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { format } from "node:util";

/** `describe`, `it` and `expect` of vitest, Jest or Bun; for node:test, the module and an `expect`. */
export type TestRunner = {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: RegisterTest & { readonly skip: RegisterTest };
  readonly expect: Expect;
};

type RegisterTest = (name: string, body: () => void | Promise<void>) => unknown;

/** Without `expect.any` and the like: inside `toMatchObject`, Bun 1.4 writes them into the value under test. */
export type Expect = (actual: unknown) => Matchers<void> & {
  readonly not: Matchers<void>;
  readonly rejects: Matchers<void | Promise<void>>; // Bun declares void
};

type Matchers<Outcome> = {
  toBe(expected: unknown): Outcome;
  toBeDefined(): Outcome;
  toBeGreaterThan(bound: number): Outcome;
  toBeGreaterThanOrEqual(bound: number): Outcome;
  toBeLessThan(bound: number): Outcome;
  toBeLessThanOrEqual(bound: number): Outcome;
  toBeNull(): Outcome;
  toBeUndefined(): Outcome;
  toContain(item: unknown): Outcome;
  toContainEqual(item: unknown): Outcome;
  toEqual(expected: unknown): Outcome;
  toHaveLength(length: number): Outcome;
  toHaveProperty(name: string): Outcome;
  toMatch(pattern: string | RegExp): Outcome;
  toMatchObject(expected: object): Outcome;
  toThrow(message?: string | RegExp): Outcome;
};

/** The runner as the suites use it. */
export type Suite = {
  readonly describe: TestRunner["describe"];
  readonly it: TestFunction & {
    /** One test for each row. `%s`, `%d` and `%j` in the name stand for the values of the row, `$key` for a property of it. */
    each: Each;
    skipIf(isSkipped: boolean): TestFunction;
  };
  readonly expect: Expect;
};

type TestFunction = (name: string, body: (test: TestScope) => void | Promise<void>) => void;

type Each = {
  <Row extends readonly [unknown, ...unknown[]]>(
    rows: readonly Row[],
  ): (name: string, body: (...row: Row) => void | Promise<void>) => void;
  <Row>(rows: readonly Row[]): (name: string, body: (row: Row) => void | Promise<void>) => void;
};

export type TestScope = {
  /** An empty directory, removed after the test. */
  directory(): string;
  /** Runs after the test, passed or failed; the step that was added last runs first. */
  after(step: () => unknown): void;
};

export function suiteFor({ describe, it, expect }: TestRunner): Suite {
  const registering =
    (register: RegisterTest): TestFunction =>
    (name, body) => {
      register(name, () => inScope(body));
    };
  const test = registering(it);
  const each =
    (rows: readonly unknown[]) =>
    (name: string, body: (...row: unknown[]) => void | Promise<void>): void => {
      for (const row of rows) {
        const values = Array.isArray(row) ? row : [row];
        test(nameOf(name, values), () => body(...values));
      }
    };
  const skipIf = (isSkipped: boolean): TestFunction => (isSkipped ? registering(it.skip) : test);
  return { describe, it: Object.assign(test, { each: each as Each, skipIf }), expect };
}

/** Names `what` was checked in front of the failure. */
export function about(what: string, check: () => void): void {
  try {
    check();
  } catch (cause) {
    throw new Error(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

async function inScope(body: (test: TestScope) => void | Promise<void>): Promise<void> {
  const steps: (() => unknown)[] = [];
  const scope: TestScope = {
    directory: () => {
      const path = mkdtempSync(join(tmpdir(), "hermes-contract-"));
      steps.push(() => rmSync(path, { recursive: true, force: true }));
      return path;
    },
    after: (step) => void steps.push(step),
  };
  const failures: unknown[] = [];
  const attempt = async (step: () => unknown): Promise<void> => {
    try {
      await step();
    } catch (cause) {
      failures.push(cause);
    }
  };
  await attempt(() => body(scope));
  for (const step of steps.reverse()) await attempt(step);
  if (failures.length > 0) throw failures[0]; // the test's own failure, if it has one
}

function nameOf(name: string, values: readonly unknown[]): string {
  const [row] = values;
  const named = name.replace(/\$(\w+)/g, (_, key: string) => String((row as Record<string, unknown>)[key]));
  const places = named.match(/%[sdj]/g)?.length ?? 0;
  return places === 0 ? named : format(named, ...values.slice(0, places));
}
