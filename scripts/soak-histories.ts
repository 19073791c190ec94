// `npm run soak:histories [-- --histories 400 --process-histories 100 --kills 300 --seed 1 --stopped-ms 70000]`: random histories of chats with two
// gateways in one process and as processes that are killed and stopped, then kills of one and of two gateways under load. JSON lines.
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    histories: { type: "string", default: "400" },
    "process-histories": { type: "string", default: "100" },
    kills: { type: "string", default: "300" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    "stopped-ms": { type: "string", default: "2000" },
  },
});
const root = resolve(import.meta.dirname, "..");
const settings = Object.entries(values).map(([name, value]) => [
  `HERMES_${name.replace("-", "_").toUpperCase()}`,
  value,
]);
for (const [file, config] of [
  ["packages/gateway/test/histories.test.ts", "vitest.config.ts"],
  ["packages/hermes-memory/test/gateway/histories.slow.test.ts", "vitest.slow.config.ts"],
] as const) {
  const args = ["run", "--config", config, file, "--disable-console-intercept=true"];
  const { status } = spawnSync(process.execPath, [resolve(root, "node_modules/vitest/vitest.mjs"), ...args], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...Object.fromEntries(settings) },
  });
  if (status !== 0) process.exitCode = 1;
}
