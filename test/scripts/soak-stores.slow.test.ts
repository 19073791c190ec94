// One short round of `npm run soak:stores`: eight of our processes beside two that write as today's Hermes, with kills.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { NODE_COMPILE_CACHE } from "../../packages/core/test/fakes/compile-cache.ts";

const root = resolve(import.meta.dirname, "../..");
const tools = resolve(root, process.env.HERMES_TOOLS ?? "../shared/tools");
const isPossible = existsSync(join(tools, "reference_replay_v30.py"));
if (!isPossible) console.warn("The script that plays today's Hermes is not there: no soak beside it.");

it.skipIf(!isPossible)(
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
