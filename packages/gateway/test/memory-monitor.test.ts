import { spawnSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMemoryMonitor } from "../src/memory-monitor.ts";

const FIGURES = /rss=\d+MB heap=\d+MB gc=\(\d+, \d+, \d+\) threads=(?:\d+|unavailable) uptime=\d+s$/;

describe("the process memory monitor", () => {
  let lines: string[] = [];
  const monitor = () => createMemoryMonitor({ info: (line) => void lines.push(line) });
  beforeEach(() => {
    lines = [];
    vi.useFakeTimers();
  });
  afterEach(() => void vi.useRealTimers());

  it("logs a baseline, a line per interval, and a last line when it stops", () => {
    const running = monitor();
    running.start(60);
    running.start(60); // runs already
    vi.advanceTimersByTime(120_000);
    running.stop();
    running.stop();
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
    const program = `const { createMemoryMonitor } = await import(${JSON.stringify(file)});
      createMemoryMonitor({ info: (line) => console.log(line) }).start(60);`;
    const args = ["--input-type=module", "-e", program];
    const { status } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 });
    expect(status).toBe(0);
  });
});
