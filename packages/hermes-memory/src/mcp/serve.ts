// One server on one pair of streams, from the first line to an orderly end.
import type { Readable, Writable } from "node:stream";
import { inOrder } from "./in-order.ts";
import { LineTransport } from "./line-transport.ts";
import { openLog } from "./log.ts";
import { providerMirror } from "./provider-mirror.ts";
import { createServer } from "./server.ts";
import { SessionDatabase } from "./session-database.ts";

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
  await using sessions = new SessionDatabase(home, log);
  const mirror = providerMirror(home, log);
  const server = await createServer({ home, log, sessions, inOrder: inOrder(), mirror });
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

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}
