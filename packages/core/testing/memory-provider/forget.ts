// `hermes memory forget` asks the active provider to erase a text. Whoever offers that has to mean it.
import type { Suite } from "../runner.ts";
import { HOSTILE_TEXTS } from "./inputs.ts";
import { close, type ProviderHarness, start } from "./support.ts";

const SECRET = "quartzite inversion 73.5";

export function forgetContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("erases what was mirrored with the text in it, after it has said how much that is, and nothing else", async (test) => {
    const { provider, home } = await start(test, harness);
    if (provider.forget === undefined) return;
    await provider.onMemoryWrite?.("add", "user", `The kiln needs a ${SECRET}`, {});
    await provider.onMemoryWrite?.("add", "memory", "Fires the kiln on Mondays", {});
    const looked = await provider.forget(SECRET, { dry_run: true });
    const done = await provider.forget(SECRET, {});
    expect(done.erased).toBe(looked.erased);
    await close(provider);
    const kept = JSON.stringify(harness.stored(home));
    expect(kept).toContain("Fires the kiln on Mondays");
    if (harness.cannotForget === undefined) {
      expect(looked.erased).toBe(1);
      expect(kept).not.toContain(SECRET);
    } else {
      // What it cannot erase it says, without repeating it.
      expect(done).toEqual({ erased: 0, remaining: expect.any(String) });
      expect(done.remaining).not.toContain(SECRET);
    }
  });

  it("only looks when it is asked to look", async (test) => {
    const { provider, home } = await start(test, harness);
    if (provider.forget === undefined) return;
    await provider.onMemoryWrite?.("add", "user", `The kiln needs a ${SECRET}`, {});
    await provider.forget(SECRET, { dry_run: true });
    await close(provider);
    expect(JSON.stringify(harness.stored(home))).toContain(SECRET);
  });

  it("finds nothing where there is nothing, whatever it is asked for", async (test) => {
    const { provider } = await start(test, harness);
    for (const text of [SECRET, "", ...HOSTILE_TEXTS])
      expect((await provider.forget?.(text, {}))?.erased ?? 0).toBe(0);
  });
}
