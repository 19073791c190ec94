import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"],
    exclude: ["**/*.slow.test.ts", "**/node_modules/**"], // vitest.slow.config.ts runs the slow ones
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
