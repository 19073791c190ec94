// `hermes memory test` runs this in the user's real home.
import { expect, it, type TestContext } from "vitest";
import { tempDirectory } from "../../test/fakes/temp-directory.ts";
import { close, type ProviderHarness, settle, start } from "./support.ts";

export function selfTestContract(harness: ProviderHarness): void {
  const needsSelfTest = (context: TestContext): void => {
    if (!harness.create(tempDirectory()).selfTest) context.skip("it has none");
  };

  it("tells what it did and how long each step took", async (context) => {
    needsSelfTest(context);
    const { provider } = await start(harness);
    const report = await provider.selfTest?.(AbortSignal.timeout(20_000));
    expect(report?.steps).not.toEqual([]);
    for (const { name, ms } of report?.steps ?? []) {
      expect(name.trim()).not.toBe("");
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThan(20_000);
    }
  });

  it("leaves no trace, in an empty store and in a used one", async (context) => {
    needsSelfTest(context);
    const { provider: first, home } = await start(harness);
    await close(first);
    for (const entry of ["", "The kiln is fired at 1240 degrees"]) {
      const { provider: writer } = await start(harness, { home });
      if (entry !== "") await writer.onMemoryWrite?.("add", "memory", entry, {});
      await close(writer);
      const before = harness.stored(home);
      const { provider } = await start(harness, { home });
      await provider.selfTest?.(AbortSignal.timeout(20_000));
      await provider.selfTest?.(AbortSignal.timeout(20_000));
      await close(provider);
      expect(harness.stored(home)).toEqual(before);
    }
  });

  it("leaves no trace when it is stopped", async (context) => {
    needsSelfTest(context);
    const { provider, home } = await start(harness);
    await provider.onMemoryWrite?.("add", "memory", "The kiln is fired at 1240 degrees", {});
    await close(provider);
    const before = harness.stored(home);
    const { provider: tested } = await start(harness, { home });
    expect(["answered", "failed"]).toContain(await settle(() => tested.selfTest?.(AbortSignal.abort())));
    await close(tested);
    expect(harness.stored(home)).toEqual(before);
  });
}
