import { spawnSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startMemoryMonitor } from "../src/memory-monitor.ts";

const FIGURES = /rss=\d+MB heap=\d+MB gc=\(\d+, \d+, \d+\) threads=(?:\d+|unavailable) uptime=\d+s$/;

describe("the process memory monitor", () => {
  let lines: string[] = [];
  beforeEach(() => {
    lines = [];
    vi.useFakeTimers();
  });
  afterEach(() => void vi.useRealTimers());

  it("logs a baseline, a line per interval, and a last line when it stops", () => {
    const stop = startMemoryMonitor({ info: (line) => void lines.push(line) }, 60);
    vi.advanceTimersByTime(120_000);
    stop();
    vi.advanceTimersByTime(600_000);
    const figures = lines.filter((line) => FIGURES.test(line)).map((line) => line.replace(FIGURES, ""));
    expect(figures).toEqual(["[MEMORY] baseline ", "[MEMORY] ", "[MEMORY] ", "[MEMORY] shutdown "]);
    expect(lines.filter((line) => !FIGURES.test(line))).toEqual([
      "[MEMORY] Periodic memory monitoring started (interval: 60s)",
      "[MEMORY] Periodic memory monitoring stopped",
    ]);
  });

  it("never keeps the process alive", () => {
    const file = new URL("../src/memory-monitor.ts", import.meta.url).href;
    const program = `const { startMemoryMonitor } = await import(${JSON.stringify(file)});
      startMemoryMonitor({ info: (line) => console.log(line) }, 60);`;
    const args = ["--input-type=module", "-e", program];
    const { status } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 });
    expect(status).toBe(0);
  });
});
