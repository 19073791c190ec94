// Hands what the `memory` tool wrote to the active memory provider, one call after the other, after the client has its answer.
import type { MemoryConfig } from "@hermes-memory/core/config";
import type { CommittedWrite } from "@hermes-memory/core/curated";
import { inOrder } from "./in-order.ts";
import type { Log } from "./log.ts";

export type ProviderMirror = {
  /** Returns at once. What goes wrong is logged: the file is written, and the client was told so. */
  push(config: MemoryConfig, writes: readonly CommittedWrite[]): void;
  /** Everything that was pushed so far is handed over, or the time is up. */
  drained(timeoutMs: number): Promise<void>;
};

export function providerMirror(home: string, log: Log): ProviderMirror {
  const queue = inOrder();
  let last: Promise<unknown> = Promise.resolve();
  return {
    push(config, writes) {
      if (writes.length === 0 || config.provider.trim() === "") return;
      last = queue(async () => {
        const { mirrorWrites } = await import("@hermes-memory/core/providers");
        const outcome = await mirrorWrites({ home, config, writes, origin: "mcp" });
        if (outcome.kind === "failed")
          log.warn(`The memory provider '${outcome.provider}' did not get a change: ${outcome.reason}`);
      }).catch((cause: unknown) => log.error("The memory provider could not be told of a change", { cause }));
    },
    async drained(timeoutMs) {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, timeoutMs);
      await Promise.race([last, late]);
      clearTimeout(timer);
    },
  };
}
