// One server on one pair of streams, from the first line to an orderly end.
import type { Readable, Writable } from "node:stream";
import type { CommittedWrite } from "@hermes-memory/core/curated";
import { type Memory, openMemory } from "@hermes-memory/core/memory";
import type { ProviderMirror } from "./dependencies.ts";
import { inOrder } from "./in-order.ts";
import { LineTransport } from "./line-transport.ts";
import { type Log, openLog } from "./log.ts";
import { createServer } from "./server.ts";

export type ServeOptions = {
  readonly home: string;
  readonly input: Readable;
  /** Carries the protocol and nothing else. */
  readonly output: Writable;
  /** Ends the server as the end of input does. */
  readonly signal?: AbortSignal;
};

/** As long as a write waits for its lock unless told otherwise; a client that has gone waits for nothing. */
const DRAIN_MS = 10_000;

export async function serve({ home, input, output, signal }: ServeOptions): Promise<void> {
  const log = openLog(home);
  const transport = new LineTransport(input, output, log);
  await using memory = openMemory({ home, log, config: "live" });
  const mirror = providerMirror(memory, log);
  const server = await createServer({ memory, log, inOrder: inOrder(), mirror });
  await server.connect(transport);
  log.info("MCP server started", { pid: process.pid });
  await Promise.race([transport.ended, aborted(signal)]);
  // What was accepted is carried out and answered before anything is closed.
  transport.stopReading();
  const isDrained = await transport.drained(DRAIN_MS);
  await server.close();
  await mirror.drained(DRAIN_MS);
  log.info("MCP server stopped", { pid: process.pid, drained: isDrained, dropped: transport.droppedLines });
}

/** One call after the other. */
function providerMirror({ owner }: Memory, log: Log): ProviderMirror {
  const queue = inOrder();
  let last: Promise<unknown> = Promise.resolve();
  const tell = async (writes: readonly CommittedWrite[]): Promise<void> => {
    const outcome = await owner.provider.mirror(writes, "mcp");
    if (outcome.kind === "failed")
      log.warn(`The memory provider '${outcome.provider}' did not get a change: ${outcome.reason}`);
  };
  return {
    push(writes) {
      if (writes.length === 0) return;
      last = queue(() => tell(writes)).catch((cause: unknown) =>
        log.error("The memory provider could not be told of a change", { cause }),
      );
    },
    async drained(timeoutMs) {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, timeoutMs);
      await Promise.race([last, late]);
      clearTimeout(timer);
    },
  };
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}
