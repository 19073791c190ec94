// `hermes memory test` runs this in the user's real home.
import type { Suite } from "../runner.ts";
import { close, type ProviderHarness, probe, settle, start } from "./support.ts";

export function selfTestContract({ it, expect }: Suite, harness: ProviderHarness): void {
  const whereItHasOne = it.skipIf(probe(harness, (provider) => provider.selfTest === undefined));

  whereItHasOne("tells what it did and how long each step took", async (test) => {
    const { provider } = await start(test, harness);
    const report = await provider.selfTest?.(AbortSignal.timeout(20_000));
    expect(report?.steps).not.toEqual([]);
    for (const { name, ms } of report?.steps ?? []) {
      expect(name.trim()).not.toBe("");
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThan(20_000);
    }
  });

  whereItHasOne("leaves no trace, in an empty store and in a used one", async (test) => {
    const { provider: first, home } = await start(test, harness);
    await close(first);
    for (const entry of ["", "The kiln is fired at 1240 degrees"]) {
      const { provider: writer } = await start(test, harness, { home });
      if (entry !== "") await writer.onMemoryWrite?.("add", "memory", entry, {});
      await close(writer);
      const before = harness.stored(home);
      const { provider } = await start(test, harness, { home });
      await provider.selfTest?.(AbortSignal.timeout(20_000));
      await provider.selfTest?.(AbortSignal.timeout(20_000));
      await close(provider);
      expect(harness.stored(home)).toEqual(before);
    }
  });

  whereItHasOne("leaves no trace when it is stopped", async (test) => {
    const { provider, home } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", "The kiln is fired at 1240 degrees", {});
    await close(provider);
    const before = harness.stored(home);
    const { provider: tested } = await start(test, harness, { home });
    expect(["answered", "failed"]).toContain(await settle(() => tested.selfTest?.(AbortSignal.abort())));
    await close(tested);
    expect(harness.stored(home)).toEqual(before);
  });
}
