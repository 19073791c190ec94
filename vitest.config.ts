import { mkdirSync, statfsSync } from "node:fs";
import { defineConfig } from "vitest/config";

/** Databases and files of the quick tests go to memory where there is room: on a disk, waiting for fsync takes half of the time. The slow tests stay on the disk. */
function inMemory(): { readonly TMPDIR?: string } {
  const folder = `/dev/shm/hermes-memory-tests-${process.getuid?.() ?? 0}`;
  try {
    const { bavail, bsize } = statfsSync("/dev/shm");
    if (bavail * bsize < 2 ** 31) return {};
    mkdirSync(folder, { recursive: true });
    return { TMPDIR: folder };
  } catch {
    return {}; // no such file system here, or not ours to write to
  }
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"],
    exclude: ["**/*.slow.test.ts", "**/node_modules/**"], // vitest.slow.config.ts runs the slow ones
    env: inMemory(),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Child processes and a real file system do the work here; two workers fit the smallest machine we test on.
    maxWorkers: 2,
    // Test files share the modules of their worker: loading them anew for each of 390 files took a third of the time. So a test puts
    // back what it changes in the process (environment, timers, globals).
    isolate: false,
    // A few tests compare times or memory within one run and can fail on a busy machine. CI tries a failed test up to
    // twice more and prints that it did.
    retry: process.env.CI ? 2 : 0,
  },
});
