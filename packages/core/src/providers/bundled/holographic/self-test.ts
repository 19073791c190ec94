// `hermes memory test`: a fact is written, found and removed in the real store.
import { describeCause, HermesError, randomHex } from "../../../lib/index.ts";
import type { SelfTestReport } from "../../contract.ts";
import type { FactStore } from "./store.ts";

export async function testStore(store: FactStore, signal: AbortSignal): Promise<SelfTestReport> {
  const steps: { name: string; ms: number; detail?: string }[] = [];
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const start = performance.now();
    const value = await work();
    steps.push({ name, ms: performance.now() - start });
    return value;
  };
  const mark = `selftest${randomHex(6)}`; // one word, which no other fact has
  const factId = await step("write", async () => {
    const added = await store.add(`hermes memory test ${mark}`, { category: "general", tags: "" });
    if (!added.ok) throw failed("write", added.error.message);
    return added.value.factId;
  });
  try {
    await step("recall", async () => {
      const hits = await store.search({
        query: mark,
        category: undefined,
        minTrust: 0,
        limit: 5,
        isSafe: true,
      });
      if (!hits.some(({ fact_id }) => fact_id === factId))
        throw failed("recall", "the fact was not found again");
    });
  } catch (cause) {
    await store.remove(factId).catch((second: unknown) => {
      throw failed("clean up", `${describeCause(second)}; fact ${factId} is left behind`);
    });
    throw cause;
  }
  const isGone = await cleanUp(store, factId, steps);
  if (!isGone) throw failed("clean up", `fact ${factId} was gone before it was removed`);
  return { steps };
}

/** Also when time is up: nothing may stay. */
async function cleanUp(
  store: FactStore,
  factId: number,
  steps: { name: string; ms: number }[],
): Promise<boolean> {
  const start = performance.now();
  const isGone = await store.remove(factId);
  steps.push({ name: "clean up", ms: performance.now() - start });
  return isGone;
}

function failed(step: string, reason: string): HermesError {
  return new HermesError("self-test-failed", `The ${step} step of the test failed: ${reason}.`);
}
