// One short round of `npm run soak:stores`: eight of our processes beside two that write as today's Hermes, with kills.
import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { NODE_COMPILE_CACHE } from "../../packages/core/test/fakes/compile-cache.ts";
import { hasPythonSqlite } from "../../packages/core/test/fakes/session-index.ts";

const root = resolve(import.meta.dirname, "../..");

it.skipIf(!hasPythonSqlite)(
  "eight processes of ours and two of today's Hermes, some killed, lose nothing, and the index is exact",
  { timeout: 300_000 },
  async () => {
    const script = join(root, "scripts/soak-stores.ts");
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [script, "--minutes", "0", "--round-seconds", "6"],
      { env: { ...process.env, NODE_COMPILE_CACHE } },
    );
    const outcome = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Record<string, number | boolean>;
    expect(outcome).toMatchObject({ ok: true, rounds: 1, kills: 3 });
    expect(outcome.acknowledged).toBeGreaterThan(0);
    expect(outcome.searches_compared).toBeGreaterThan(0);
  },
);
