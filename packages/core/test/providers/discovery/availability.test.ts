import { describe, expect, it } from "vitest";
import type { MemoryProvider } from "../../../src/providers/contract.ts";
import { describeForeign } from "../../../src/providers/discovery/foreign-code.ts";
import { checkAvailability } from "../../../src/providers/discovery/load-provider.ts";
import { leastCpuMs } from "../../fakes/cpu-time.ts";

function provider(members: Partial<MemoryProvider>): MemoryProvider {
  return { name: "x", isAvailable: () => true, initialize() {}, getToolSchemas: () => [], ...members };
}

describe("asking whether a provider could work", () => {
  it("takes a plain answer and a promised one", async () => {
    expect(await checkAvailability(provider({}))).toEqual({ available: true });
    expect(await checkAvailability(provider({ isAvailable: async () => true }))).toEqual({ available: true });
    expect(await checkAvailability(provider({ isAvailable: () => false }))).toEqual({ available: false });
  });

  it("gives the provider's own reason, in one line and without secrets", async () => {
    const isAvailable = () => false;
    const unavailableReason = async () => "Key sk-ant-abc123def456ghi789\n  was refused.\n";
    expect(await checkAvailability(provider({ isAvailable, unavailableReason }))).toEqual({
      available: false,
      reason: "Key sk-ant-*** was refused.",
    });
  });

  it("does not ask for a reason when the answer is yes", async () => {
    const asked: string[] = [];
    await checkAvailability(provider({ unavailableReason: () => String(asked.push("why")) }));
    expect(asked).toEqual([]);
  });

  it("a throw or a rejection is a no with a reason", async () => {
    const throwing = () => {
      throw new Error("no config");
    };
    const rejecting = () => Promise.reject(new Error("no config"));
    for (const isAvailable of [throwing, rejecting])
      expect(await checkAvailability(provider({ isAvailable }))).toEqual({
        available: false,
        reason: "isAvailable() failed: no config.",
      });
    expect(
      await checkAvailability(provider({ isAvailable: () => false, unavailableReason: throwing })),
    ).toEqual({
      available: false,
      reason: "unavailableReason() failed: no config.",
    });
  });

  it.each([[Object.create(null)], [undefined], [{ toString: 7 }], [new Error("")]])(
    "whatever is thrown can be told: %#",
    async (cause) => {
      const isAvailable = () => Promise.reject(cause);
      const { available, reason } = await checkAvailability(provider({ isAvailable }));
      expect(available).toBe(false);
      expect(reason).toMatch(/^isAvailable\(\) failed: \w+/);
    },
  );

  it("a reason of many megabytes is not read to its end, and no secret shows where it is cut", () => {
    const secret = `${"x".repeat(290)} sk-ant-api03-${"abcdefghijklmnop".repeat(4)} `;
    const cost = (chars: number) => {
      const text = secret + "sk- y ".repeat(chars / 6);
      return leastCpuMs(() => describeForeign(new Error(text)));
    };
    const said = describeForeign(new Error(secret + "y".repeat(1_000_000)));
    expect([said.length < 320, said.includes("abcdef")]).toEqual([true, false]);
    expect(cost(12_000_000)).toBeLessThan(Math.max(cost(12_000), 3) * 4);
  });

  it("one that hangs is a no after the deadline, and what it says later is nothing", async () => {
    const { promise, reject } = Promise.withResolvers<boolean>();
    const isAvailable = () => promise;
    expect(await checkAvailability(provider({ isAvailable }), { timeoutMs: 20 })).toEqual({
      available: false,
      reason: "isAvailable() did not finish within 0.02 s.",
    });
    reject(new Error("late"));
  });
});
