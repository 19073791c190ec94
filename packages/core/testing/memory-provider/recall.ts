// Recall is asked for with whatever the user typed.

import { codePointLength } from "../../src/lib/index.ts";
import { about, type Suite } from "../runner.ts";
import { HUGE_TEXT, QUERIES } from "./inputs.ts";
import { close, hasSetting, type ProviderHarness, start } from "./support.ts";

const OPTIONS = { session_id: "session-1" };
const ENTRY = "The kiln in the yard is fired at 1240 degrees";

export function recallContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("is a text without fences, whatever was typed", async (test) => {
    const { provider } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    for (const query of QUERIES) {
      await provider.onTurnStart?.(1, query, {});
      const recalled = (await provider.prefetch?.(query, OPTIONS)) ?? "";
      const what = `recall for ${JSON.stringify(query.slice(0, 60))}`;
      about(what, () => {
        expect(typeof recalled).toBe("string");
        expect(recalled).not.toMatch(/<\/?\s*memory-context\s*>/i);
        expect(recalled.isWellFormed()).toBe(true);
      });
    }
  });

  it("is nothing for a message that says nothing", async (test) => {
    const { provider } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    expect((await provider.prefetch?.("", OPTIONS)) ?? "").toBe("");
    expect((await provider.prefetch?.(" \n\t", OPTIONS)) ?? "").toBe("");
  });

  it("can be prepared for whatever was typed", async (test) => {
    const { provider } = await start(test, harness);
    for (const query of QUERIES) await provider.queuePrefetch?.(query, OPTIONS);
  });

  it("is asked for by several turns at once, and each gets a text", async (test) => {
    const { provider } = await start(test, harness);
    const queries = ["how hot is the kiln?", "which glaze do we use?", "who owns the kiln in the yard?"];
    const texts = await Promise.all(queries.map(async (query) => provider.prefetch?.(query, OPTIONS) ?? ""));
    for (const text of texts) expect(typeof text).toBe("string");
  });

  it("finds a mirrored entry in another session, later", async (test) => {
    const { provider, home } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    await close(provider);
    const { provider: later } = await start(test, harness, { home, session: "session-2" });
    const recalled = await later.prefetch?.("how hot is the kiln fired?", { session_id: "session-2" });
    expect(recalled).toContain(ENTRY);
  });

  it.skipIf(harness.cannotForget !== undefined)(
    "forgets a mirrored entry that was replaced or removed",
    async (test) => {
      const { provider } = await start(test, harness);
      await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
      await provider.onMemoryWrite?.("replace", "memory", "The kiln is fired at 1180 now", {
        old_text: "1240",
      });
      const changed = await provider.prefetch?.("how hot is the kiln fired?", OPTIONS);
      expect(changed).toContain("1180");
      expect(changed).not.toContain("1240");
      await provider.onMemoryWrite?.("remove", "memory", "", { old_text: "1180" });
      expect((await provider.prefetch?.("how hot is the kiln fired?", OPTIONS)) ?? "").not.toContain("1180");
    },
  );

  it.skipIf(!hasSetting(harness, "max_chars"))(
    "keeps to `max_chars` where there is such a setting",
    async (test) => {
      const { provider } = await start(test, harness, { settings: { max_chars: "60" } });
      for (let number = 0; number < 5; number += 1)
        await provider.onMemoryWrite?.("add", "memory", `${ENTRY}, firing ${number}`, {});
      const recalled = (await provider.prefetch?.("how hot is the kiln fired?", OPTIONS)) ?? "";
      expect(recalled).not.toBe("");
      expect(codePointLength(recalled)).toBeLessThanOrEqual(60);
      expect(codePointLength((await provider.prefetch?.(HUGE_TEXT, OPTIONS)) ?? "")).toBeLessThanOrEqual(60);
    },
  );
}
