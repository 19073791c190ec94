// Tests at full size, which takes many minutes; `npm test` and `npm run test:slow` run them at a small size. `npm run soak`: durability.
// `npm run soak:scrubber [-- --cases 200000]`: random streams and replies through the scrubbers. `npm run soak:histories [-- --histories 400
// --process-histories 100 --kills 300 --seed 1 --stopped-ms 70000]`: random histories of chats with two gateways in one process and as
// processes that are killed and stopped, then kills of one and of two gateways under load.
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";

type Soak = {
  /** Each becomes an environment variable that the tests read. */
  readonly settings: Readonly<Record<string, string>>;
  readonly tests: readonly string[];
};

const SOAKS: Readonly<Record<string, Soak>> = {
  durability: {
    settings: { soak: "1" },
    tests: [
      "packages/core/test/sessions/sqlite/durability.slow.test.ts",
      "packages/core/test/curated/kill.slow.test.ts",
    ],
  },
  scrubber: {
    settings: { cases: "200000" },
    tests: [
      "packages/core/test/providers/fence/recall-fence-streams.test.ts",
      "packages/core/test/providers/fence/echo-scrubber.test.ts",
    ],
  },
  histories: {
    settings: {
      ...{ histories: "400", "process-histories": "100", kills: "300" },
      ...{ seed: String(Date.now() % 2 ** 31), "stopped-ms": "2000" },
    },
    tests: [
      "packages/gateway/test/histories.test.ts",
      "packages/hermes-memory/test/gateway/histories.slow.test.ts",
    ],
  },
};

const [name = "", ...flags] = process.argv.slice(2);
const soak = SOAKS[name];
if (soak === undefined) throw new Error(`There are: ${Object.keys(SOAKS).join(", ")}.`);
const options = Object.fromEntries(
  Object.keys(soak.settings).map((key) => [key, { type: "string" as const }]),
);
const { values } = parseArgs({ args: flags, options });
const settings = Object.entries({ ...soak.settings, ...values }).map(([key, value]) => [
  `HERMES_${key.replaceAll("-", "_").toUpperCase()}`,
  value,
]);
const root = resolve(import.meta.dirname, "..");
for (const file of soak.tests) {
  const config = file.endsWith(".slow.test.ts") ? "vitest.slow.config.ts" : "vitest.config.ts";
  const args = [
    "run",
    "--config",
    config,
    file,
    "--disable-console-intercept=true",
    "--test-timeout=7200000",
  ];
  const { status } = spawnSync(process.execPath, [resolve(root, "node_modules/vitest/vitest.mjs"), ...args], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...Object.fromEntries(settings) },
  });
  if (status !== 0) process.exitCode = 1;
}
