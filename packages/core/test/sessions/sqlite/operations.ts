// A store context for tests of single operations. Members that a test does not give throw when they are used.
import type { StoreContext } from "../../../src/sessions/sqlite/context.ts";

export function contextWith(connection: Partial<StoreContext["connection"]>): StoreContext {
  const unused = (): never => {
    throw new Error("The operation must not use this.");
  };
  const refuse = { read: unused, write: unused, outside: unused, all: unused, get: unused, run: unused };
  return {
    connection: { ...refuse, ...connection } as unknown as StoreContext["connection"],
    index: { read: unused, finish: unused } as unknown as StoreContext["index"],
    clock: { now: () => new Date("2026-06-01T00:00:00Z") },
    profile: null,
    warn: unused,
  };
}
