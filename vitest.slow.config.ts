// Crash, race and large-window tests that take minutes. `npm test` leaves them out; `.ci/run` runs both.
import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.ts";

const slow = mergeConfig(base, { test: { testTimeout: 300_000, hookTimeout: 120_000 } });
slow.test.include = ["test/**/*.slow.test.ts", "packages/*/test/**/*.slow.test.ts"];
slow.test.exclude = ["**/node_modules/**"];
slow.test.env = {}; // on the disk: crashes and locks are what is tested here
slow.test.passWithNoTests = true;

export default defineConfig(slow);
