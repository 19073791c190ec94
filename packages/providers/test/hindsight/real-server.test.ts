// The provider against a real Hindsight server, when HINDSIGHT_TEST_URL names one. It uses a bank of its own and deletes it.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHindsightProvider } from "../../src/hindsight/provider.ts";
import { call } from "./support.ts";

const { HINDSIGHT_TEST_URL: url, HINDSIGHT_TEST_KEY: key = "" } = process.env;
const SLOW = { timeout: 180_000 };

it.skipIf(url === undefined)("stores, recalls, forgets and erases", SLOW, async () => {
  const home = tempDirectory();
  const provider = createHindsightProvider({
    home,
    env: {
      HOME: home,
      HINDSIGHT_API_URL: url,
      HINDSIGHT_API_KEY: key,
      HINDSIGHT_BANK_ID: `hermes-test-${randomUUID()}`,
    },
  });
  // Without a language model the server makes no observations.
  provider.saveConfig?.({ recall_types: "world,experience,observation", retain_async: "false" }, home);
  await provider.initialize("session-1", { hermes_home: home, platform: "cli", agent_context: "primary" });
  try {
    await provider.selfTest?.(AbortSignal.timeout(60_000));
    await provider.syncTurn?.("My kiln is called Vesuvius", "Noted.", { session_id: "session-1" });
    await provider.onSessionEnd?.([], {});
    await eventually(async () => {
      const { result } = await call(provider, "hindsight_recall", { query: "What is the kiln called?" });
      return String(result).includes("Vesuvius");
    });
    expect((await provider.forget?.("Vesuvius", {}))?.erased).toBe(1);
    const { result } = await call(provider, "hindsight_recall", { query: "What is the kiln called?" });
    expect(result).not.toContain("Vesuvius");
  } finally {
    await provider.eraseUser?.({});
    await provider.shutdown?.({});
  }
});

async function eventually(isTrue: () => Promise<boolean>): Promise<void> {
  for (const until = Date.now() + 90_000; Date.now() < until; await sleep(1_000)) if (await isTrue()) return;
  throw new Error("It did not become true within 90 s.");
}
