// Logs the memory of the process at intervals, so that a leak shows in the log of a server that runs for weeks. The lines have the form
// of the Python original, with `heap=` added and the current RSS instead of the peak.
import { readFileSync } from "node:fs";
import { PerformanceObserver, constants as perf } from "node:perf_hooks";
import type { Logger } from "@hermes-memory/core/internal/logger";

const MEGABYTE = 1024 * 1024;

/** What a line reports. Each member may throw. */
export type ProcessFigures = {
  /** In bytes. */
  rss(): number;
  heap(): number;
  /** Collections so far: young, full, others. */
  collections(): readonly number[];
  /** Undefined where the system does not tell. */
  threads(): number | undefined;
  uptimeSeconds(): number;
};

export type MemoryMonitor = ReturnType<typeof createMemoryMonitor>;

export function createMemoryMonitor(
  log: Pick<Logger, "info" | "warn">,
  figures: ProcessFigures = processFigures(),
) {
  let timer: NodeJS.Timeout | undefined;
  const line = (prefix: string): void => log.info(memoryLine(figures, prefix));
  return {
    /** False if it runs already, or if RSS cannot be read. */
    start(intervalSeconds = 300): boolean {
      if (timer !== undefined) return false;
      if (readOr(figures.rss) === undefined) {
        log.warn("[MEMORY] Memory monitoring unavailable: the memory of this process cannot be read.");
        return false;
      }
      line("baseline");
      log.info(`[MEMORY] Periodic memory monitoring started (interval: ${intervalSeconds}s)`);
      timer = setInterval(() => {
        try {
          line("");
        } catch {
          // A logger that fails must not end the server; it counts its lost lines itself.
        }
      }, intervalSeconds * 1_000);
      timer.unref(); // never keeps the process alive
      return true;
    },
    /** Does nothing when it does not run. */
    stop(): void {
      if (timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
      line("shutdown");
      log.info("[MEMORY] Periodic memory monitoring stopped");
    },
  };
}

function memoryLine(figures: ProcessFigures, prefix: string): string {
  const counts = readOr(figures.collections);
  return [
    "[MEMORY]",
    ...(prefix === "" ? [] : [prefix]),
    `rss=${megabytes(readOr(figures.rss))}`,
    `heap=${megabytes(readOr(figures.heap))}`,
    `gc=${counts === undefined ? "unavailable" : `(${counts.join(", ")})`}`,
    `threads=${readOr(figures.threads) ?? "unavailable"}`,
    `uptime=${Math.floor(readOr(figures.uptimeSeconds) ?? 0)}s`,
  ].join(" ");
}

function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? "unavailable" : `${Math.round(bytes / MEGABYTE)}MB`;
}

function readOr<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function processFigures(): ProcessFigures {
  const counts = [0, 0, 0];
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as { readonly detail?: { readonly kind?: number } }).detail ?? {};
      const at =
        kind === perf.NODE_PERFORMANCE_GC_MINOR ? 0 : kind === perf.NODE_PERFORMANCE_GC_MAJOR ? 1 : 2;
      counts[at] = (counts[at] ?? 0) + 1;
    }
  });
  observer.observe({ entryTypes: ["gc"] });
  return {
    rss: () => process.memoryUsage.rss(),
    heap: () => process.memoryUsage().heapUsed,
    collections: () => [...counts],
    threads: () => {
      if (process.platform !== "linux") return undefined;
      const [, count] = /^Threads:\s+(\d+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
      return count === undefined ? undefined : Number(count);
    },
    uptimeSeconds: () => process.uptime(),
  };
}
