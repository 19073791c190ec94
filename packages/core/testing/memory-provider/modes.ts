// `mode`, where a provider has that setting: recall, tools, or both.
import { expect, it, type TestContext } from "vitest";
import { tempDirectory } from "../../test/fakes/temp-directory.ts";
import { hasSetting, type ProviderHarness, settle, start } from "./support.ts";

const OPTIONS = { session_id: "session-1" };
const ENTRY = "The kiln in the yard is fired at 1240 degrees";

export function modesContract(harness: ProviderHarness): void {
  const needsMode = (context: TestContext): void => {
    if (!hasSetting(harness, "mode")) context.skip("it has no such setting");
  };

  it("offers hybrid, context and tools, and is hybrid unless told", (context) => {
    needsMode(context);
    const field = harness
      .create(".")
      .getConfigSchema?.()
      .find(({ key }) => key === "mode");
    expect(field).toMatchObject({ choices: ["hybrid", "context", "tools"], default: "hybrid" });
  });

  it.each(["hybrid", "no such mode"])("has tools and recall in mode '%s', if it is saved", async (mode) => {
    const home = tempDirectory();
    await settle(() => harness.create(home).saveConfig?.({ mode }, home)); // an unknown one may be refused
    const { provider } = await start(harness, { home });
    expect(await provider.getToolSchemas()).not.toEqual([]);
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    expect(await provider.prefetch?.("how hot is the kiln?", OPTIONS)).toContain(ENTRY);
  });

  it("has recall and no tools in mode 'context'", async (context) => {
    needsMode(context);
    const { provider } = await start(harness, { settings: { mode: "context" } });
    expect(await provider.getToolSchemas()).toEqual([]);
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    expect(await provider.prefetch?.("how hot is the kiln?", OPTIONS)).toContain(ENTRY);
  });

  it("has tools and no recall in mode 'tools'", async (context) => {
    needsMode(context);
    const { provider } = await start(harness, { settings: { mode: "tools" } });
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    await provider.queuePrefetch?.("how hot is the kiln?", OPTIONS);
    expect((await provider.prefetch?.("how hot is the kiln?", OPTIONS)) ?? "").toBe("");
    expect(await provider.getToolSchemas()).not.toEqual([]);
  });

  it("tells the model something about itself in each of them", async (context) => {
    needsMode(context);
    for (const mode of ["hybrid", "context", "tools"]) {
      const { provider } = await start(harness, { settings: { mode } });
      const block = (await provider.systemPromptBlock?.({})) ?? "";
      expect(block.trim()).not.toBe("");
      expect(await provider.systemPromptBlock?.({}), "the same for the whole session").toBe(block);
    }
  });
}
