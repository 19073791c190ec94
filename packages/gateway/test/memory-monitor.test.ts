// The ten behaviours of the process memory monitor.
import { spawnSync } from "node:child_process";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMemoryMonitor, type MemoryMonitor, type ProcessFigures } from "../src/memory-monitor.ts";

const FIGURES: ProcessFigures = {
  rss: () => 123 * 1024 * 1024,
  heap: () => 45.4 * 1024 * 1024,
  collections: () => [7, 2, 1],
  threads: () => 11,
  uptimeSeconds: () => 61.9,
};
const LINE = "rss=123MB heap=45MB gc=(7, 2, 1) threads=11 uptime=61s";

let lines: string[] = [];
const log: Pick<Logger, "info" | "warn"> = {
  info: (message) => void lines.push(`info ${message}`),
  warn: (message) => void lines.push(`warn ${message}`),
};
let running: MemoryMonitor | undefined;

function monitor(figures: Partial<ProcessFigures> = {}, to = log): MemoryMonitor {
  running = createMemoryMonitor(to, { ...FIGURES, ...figures });
  return running;
}

beforeEach(() => {
  lines = [];
  vi.useFakeTimers();
});
afterEach(() => {
  running?.stop();
  vi.useRealTimers();
});

describe("the process memory monitor", () => {
  it("1. begins with a baseline, then says that it started and how often it logs", () => {
    expect(monitor().start(60)).toBe(true);
    expect(lines).toEqual([
      `info [MEMORY] baseline ${LINE}`,
      "info [MEMORY] Periodic memory monitoring started (interval: 60s)",
    ]);
  });

  it("2. logs one line without a prefix per interval", () => {
    monitor().start(60);
    vi.advanceTimersByTime(180_000);
    expect(lines.slice(2)).toEqual(Array(3).fill(`info [MEMORY] ${LINE}`));
  });

  it("3. logs every 300 s by default", () => {
    monitor().start();
    expect(lines[1]).toContain("(interval: 300s)");
    vi.advanceTimersByTime(299_999);
    expect(lines).toHaveLength(2);
    vi.advanceTimersByTime(1);
    expect(lines).toHaveLength(3);
  });

  it("4. does not start twice", () => {
    const each = monitor();
    each.start(60);
    expect(each.start(60)).toBe(false);
    expect(lines).toHaveLength(2);
    vi.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(3);
  });

  it("5. does not start when the memory cannot be read, with one warning", () => {
    const rss = (): number => {
      throw new Error("no /proc");
    };
    expect(monitor({ rss }).start()).toBe(false);
    expect(lines).toEqual([expect.stringMatching(/^warn .*Memory monitoring unavailable/)]);
    vi.advanceTimersByTime(600_000);
    expect(lines).toHaveLength(1);
  });

  it("6. says that a figure is unavailable when it can be read no longer", () => {
    let isReadable = true;
    const rss = (): number => {
      if (!isReadable) throw new Error("gone");
      return 1024 * 1024;
    };
    monitor({ rss, threads: () => undefined }).start(60);
    isReadable = false;
    vi.advanceTimersByTime(60_000);
    expect(lines[2]).toBe(
      "info [MEMORY] rss=unavailable heap=45MB gc=(7, 2, 1) threads=unavailable uptime=61s",
    );
  });

  it("7. goes on after an error inside a tick", () => {
    let failures = 0;
    const failing = {
      ...log,
      info: (message: string) => {
        if (message.startsWith("[MEMORY] rss") && failures++ === 0) throw new Error("disk full");
        log.info(message);
      },
    };
    monitor({}, failing).start(60);
    vi.advanceTimersByTime(120_000);
    expect(lines).toHaveLength(3);
  });

  it("8. ends with a shutdown line, then says that it stopped", () => {
    const each = monitor();
    each.start(60);
    each.stop();
    expect(lines.slice(2)).toEqual([
      `info [MEMORY] shutdown ${LINE}`,
      "info [MEMORY] Periodic memory monitoring stopped",
    ]);
    vi.advanceTimersByTime(600_000);
    expect(lines).toHaveLength(4);
    expect(each.start(60)).toBe(true);
  });

  it("9. does nothing when it is stopped without having been started", () => {
    monitor().stop();
    expect(lines).toEqual([]);
  });

  it("10. never keeps the process alive, and reads its own figures", () => {
    const file = new URL("../src/memory-monitor.ts", import.meta.url).href;
    const program = `const { createMemoryMonitor } = await import(${JSON.stringify(file)});
      createMemoryMonitor({ info: (line) => console.log(line), warn: console.log }).start(60);`;
    const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
      timeout: 20_000,
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^\[MEMORY\] baseline rss=\d+MB heap=\d+MB gc=\(\d+, \d+, \d+\) threads=(\d+|unavailable) uptime=\d+s\n/,
    );
  });
});
