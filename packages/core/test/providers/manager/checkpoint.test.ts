// Whether a provider has stored a conversation before it is compacted.
import { describe, expect, it } from "vitest";
import type { MemoryProvider } from "../../../src/providers/contract.ts";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import { checkpointMissing } from "../../../src/providers/manager/options.ts";
import { provider, unreadableProvider } from "../../fakes/providers.ts";

function managerWith(...members: readonly MemoryProvider[]): MemoryManager {
  const manager = new MemoryManager({ deadlinesMs: { preCompress: 50 } });
  for (const member of members) manager.addProvider(member);
  return manager;
}

describe("a checkpoint", () => {
  it("is there when the external provider promises it and answers", async () => {
    const manager = managerWith(
      provider({ preCompressCheckpointApiVersion: 2, onPreCompress: () => "Remember the pier." }),
    );
    const checkpoint = await manager.checkpoint([]);
    expect(checkpoint).toEqual({ text: "Remember the pier.", missing: undefined });
    expect(checkpointMissing(checkpoint)).toBeUndefined();
  });

  it("is there without a text", async () => {
    const silent = provider({ preCompressCheckpointApiVersion: 2, onPreCompress: () => "" });
    expect(await managerWith(silent).checkpoint([])).toEqual({ text: "", missing: undefined });
  });

  it.each<[string, readonly MemoryProvider[], RegExp]>([
    ["no provider", [], /^no memory provider is active$/],
    ["a provider without a promise", [provider({ onPreCompress: () => "x" })], /'notes' does not promise/],
    [
      "a provider of version 1",
      [provider({ preCompressCheckpointApiVersion: 1, onPreCompress: () => "x" })],
      /'notes' does not promise/,
    ],
    [
      "an unreadable version",
      [unreadableProvider(["preCompressCheckpointApiVersion"])],
      /'notes' does not promise/,
    ],
    ["a provider without the hook", [provider({ preCompressCheckpointApiVersion: 2 })], /no onPreCompress/],
    [
      "a failing provider",
      [
        provider({
          preCompressCheckpointApiVersion: 2,
          onPreCompress: () => Promise.reject(new Error("disk full")),
        }),
      ],
      /'notes' did not confirm .*disk full/,
    ],
    [
      "a provider that hangs",
      [provider({ preCompressCheckpointApiVersion: 2, onPreCompress: () => new Promise(() => {}) })],
      /'notes' did not confirm .*no answer within 0\.05 s/,
    ],
  ])("is missing with %s", async (_, members, reason) => {
    const checkpoint = await managerWith(...members).checkpoint([]);
    expect(checkpoint.missing).toMatch(reason);
    expect(checkpointMissing(checkpoint)).toContain(checkpoint.missing);
  });

  it("is missing after shutdown, and without a manager", async () => {
    const manager = managerWith(provider({ preCompressCheckpointApiVersion: 2, onPreCompress: () => "x" }));
    await manager.shutdownAll();
    expect((await manager.checkpoint([])).missing).toContain("shut down");
    expect(checkpointMissing(undefined)).toContain("no memory provider is active");
  });
});
