import { describe, expect, it } from "vitest";
import { checkProvider, isMemoryProvider } from "../../../src/providers/discovery/load-provider.ts";

const LEAST = {
  name: "notes",
  isAvailable: () => true,
  initialize: () => {},
  getToolSchemas: (): readonly object[] => [],
};

function faultOf(value: unknown): string {
  const checked = checkProvider(value);
  return checked.ok ? "none" : checked.error.message;
}

describe("what counts as a provider", () => {
  it("needs a name and three methods, own or inherited", () => {
    expect(isMemoryProvider(LEAST)).toBe(true);
    expect(isMemoryProvider(Object.create(LEAST))).toBe(true);
    for (const member of ["isAvailable", "initialize", "getToolSchemas"] as const)
      expect(faultOf({ ...LEAST, [member]: undefined })).toBe(`has no ${member}()`);
    expect(faultOf({ ...LEAST, name: " \n" })).toBe("has no 'name'");
    expect(faultOf({ ...LEAST, name: "builtin" })).toMatch(/reserved/);
  });

  it("names everything that is missing at once", () => {
    expect(faultOf({ name: "x", initialize() {} })).toBe("has no isAvailable(), has no getToolSchemas()");
  });

  it.each([undefined, null, 7, "text", class {}, () => {}])("%s is none", (value) => {
    expect(isMemoryProvider(value)).toBe(false);
    expect(faultOf(value)).toMatch(/not a provider object/);
  });

  it("says which name the contract has for a method in Python's spelling", () => {
    expect(faultOf({ ...LEAST, sync_turn() {} })).toBe(
      "has sync_turn(), but the contract calls it syncTurn()",
    );
    expect(faultOf({ ...LEAST, isAvailable: undefined, is_available() {} })).toBe(
      "has is_available(), but the contract calls it isAvailable()",
    );
    expect(faultOf({ ...LEAST, sync_turn() {}, syncTurn() {} })).toBe("none");
  });

  it("an optional member may be absent or null, but nothing else than a function", () => {
    expect(faultOf({ ...LEAST, prefetch: undefined, shutdown: null })).toBe("none");
    expect(faultOf({ ...LEAST, prefetch: "always" })).toBe("has a 'prefetch' that is no function");
  });

  it("with tools it also needs a way to call them", () => {
    const withTools = { ...LEAST, getToolSchemas: () => [{ name: "note_add" }] };
    expect(faultOf(withTools)).toBe("offers tools, but has no handleToolCall()");
    expect(faultOf({ ...withTools, handleToolCall: () => "{}" })).toBe("none");
  });

  it("may not know its tools before it is initialised", () => {
    const later = {
      ...LEAST,
      getToolSchemas() {
        throw new Error("not yet");
      },
    };
    expect(faultOf(later)).toBe("none");
  });

  it("a newer contract is told apart from a broken provider", () => {
    expect(checkProvider({ name: "x", contract: 2 })).toMatchObject({
      ok: false,
      error: { kind: "wrong-contract", message: expect.stringMatching(/version 2.*Update hermes-memory/) },
    });
    expect(isMemoryProvider({ ...LEAST, contract: 1 })).toBe(true);
    for (const contract of ["1", 0, 1.5, null])
      expect(faultOf({ ...LEAST, contract })).toMatch(/version number/);
  });

  it("a member that throws when it is read is a fault, not an accident", () => {
    const evil = {
      ...LEAST,
      get name(): string {
        throw new Error("key sk-ant-abc123def456ghi789 expired");
      },
    };
    expect(faultOf(evil)).toBe("cannot be looked at: key sk-ant-*** expired");
  });
});
