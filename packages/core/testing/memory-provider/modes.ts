// `mode`, where a provider has that setting: recall, tools, or both.
import type { Suite } from "../runner.ts";
import { hasSetting, type ProviderHarness, settle, start } from "./support.ts";

const OPTIONS = { session_id: "session-1" };
const ENTRY = "The kiln in the yard is fired at 1240 degrees";

export function modesContract({ it, expect }: Suite, harness: ProviderHarness): void {
  const whereItHasModes = it.skipIf(!hasSetting(harness, "mode"));

  whereItHasModes("offers hybrid, context and tools, and is hybrid unless told", () => {
    const field = harness
      .create(".")
      .getConfigSchema?.()
      .find(({ key }) => key === "mode");
    expect(field).toMatchObject({ choices: ["hybrid", "context", "tools"], default: "hybrid" });
  });

  for (const mode of ["hybrid", "no such mode"]) {
    it(`has tools and recall in mode '${mode}', if it is saved`, async (test) => {
      const home = test.directory();
      await settle(() => harness.create(home).saveConfig?.({ mode }, home)); // an unknown one may be refused
      const { provider } = await start(test, harness, { home });
      expect(await provider.getToolSchemas()).not.toEqual([]);
      await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
      expect(await provider.prefetch?.("how hot is the kiln?", OPTIONS)).toContain(ENTRY);
    });
  }

  whereItHasModes("has recall and no tools in mode 'context'", async (test) => {
    const { provider } = await start(test, harness, { settings: { mode: "context" } });
    expect(await provider.getToolSchemas()).toEqual([]);
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    expect(await provider.prefetch?.("how hot is the kiln?", OPTIONS)).toContain(ENTRY);
  });

  whereItHasModes("has tools and no recall in mode 'tools'", async (test) => {
    const { provider } = await start(test, harness, { settings: { mode: "tools" } });
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    await provider.queuePrefetch?.("how hot is the kiln?", OPTIONS);
    expect((await provider.prefetch?.("how hot is the kiln?", OPTIONS)) ?? "").toBe("");
    expect(await provider.getToolSchemas()).not.toEqual([]);
  });

  whereItHasModes("tells the model something about itself in each of them", async (test) => {
    for (const mode of ["hybrid", "context", "tools"]) {
      const { provider } = await start(test, harness, { settings: { mode } });
      const block = (await provider.systemPromptBlock?.({})) ?? "";
      expect(block.trim()).not.toBe("");
      expect(await provider.systemPromptBlock?.({})).toBe(block); // the same for the whole session
    }
  });
}
