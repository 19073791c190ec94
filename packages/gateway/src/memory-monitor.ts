// Logs the memory of the process at intervals, so that a leak shows in the log of a server that runs for weeks. The lines have the form
// of the Python original, with `heap=` added and the current RSS instead of the peak.
import { readFileSync } from "node:fs";
import { PerformanceObserver, constants as perf } from "node:perf_hooks";
import type { Logger } from "@hermes-memory/core/internal/logger";

/** Until the returned function is called. */
export function startMemoryMonitor(log: Pick<Logger, "info">, intervalSeconds: number): () => void {
  /** Collections so far: young, full, others. */
  const collections = [0, 0, 0];
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as { readonly detail?: { readonly kind?: number } }).detail ?? {};
      const at =
        kind === perf.NODE_PERFORMANCE_GC_MINOR ? 0 : kind === perf.NODE_PERFORMANCE_GC_MAJOR ? 1 : 2;
      collections[at] = (collections[at] ?? 0) + 1;
    }
  });
  const line = (prefix: string): void => {
    const { rss, heapUsed } = process.memoryUsage();
    const uptime = Math.floor(process.uptime());
    log.info(
      `[MEMORY] ${prefix}rss=${megabytes(rss)} heap=${megabytes(heapUsed)} gc=(${collections.join(", ")}) threads=${threads()} uptime=${uptime}s`,
    );
  };
  observer.observe({ entryTypes: ["gc"] });
  line("baseline ");
  log.info(`[MEMORY] Periodic memory monitoring started (interval: ${intervalSeconds}s)`);
  const timer = setInterval(() => line(""), intervalSeconds * 1_000).unref(); // never keeps the process alive
  return () => {
    clearInterval(timer);
    observer.disconnect();
    line("shutdown ");
    log.info("[MEMORY] Periodic memory monitoring stopped");
  };
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)}MB`;
}

function threads(): string {
  if (process.platform !== "linux") return "unavailable";
  const [, count = "unavailable"] =
    /^Threads:\s+(\d+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return count;
}
