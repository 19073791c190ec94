// Runs the durability tests at full size, which takes many minutes. `npm run test:slow` runs them at a small size.
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const vitest = resolve(root, "node_modules/vitest/vitest.mjs");
const { status } = spawnSync(
  process.execPath,
  [
    vitest,
    "run",
    "--config",
    "vitest.slow.config.ts",
    "packages/core/test/sessions/sqlite/durability.slow.test.ts",
    "packages/core/test/curated/kill.slow.test.ts",
    "--disable-console-intercept=true",
  ],
  { cwd: root, stdio: "inherit", env: { ...process.env, HERMES_SOAK: "1" } },
);
process.exitCode = status ?? 1;
