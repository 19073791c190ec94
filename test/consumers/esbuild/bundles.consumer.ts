// Bundles of esbuild, as ES modules and as CommonJS: four processes of one bundle add 40 entries each, and every one is in the file.
// Once koffi can be found from the bundle; once it cannot, and flock(1) and the SQLite mutex take the locks.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { entriesIn, folder, inRoot, makeHome, node } from "../kit.ts";

const PROCESSES = ["a", "b", "c", "d"];
const outside = mkdtempSync(join(tmpdir(), "hermes-consumer-")); // no node_modules above it
const found: string[] = [];
try {
  for (const format of ["esm", "cjs"] as const) {
    for (const [koffi, place] of [
      ["koffi", folder],
      ["no koffi", outside],
    ] as const) {
      const bundle = join(place, `adder.${format === "esm" ? "mjs" : "cjs"}`);
      const { warnings } = await build({
        entryPoints: [inRoot("test/consumers/esbuild/adder.ts")],
        outfile: bundle,
        bundle: true,
        platform: "node",
        format,
        logLevel: "silent",
      });
      assert.deepEqual(warnings, []);
      const home = makeHome(`home-${format}-${koffi}`);
      const outputs = await Promise.all(PROCESSES.map((name) => node([bundle, home, name], { cwd: place })));
      const acknowledged = outputs.flatMap((output) => JSON.parse(output) as string[]);
      assert.equal(acknowledged.length, 160);
      assert.deepEqual(entriesIn(home).sort(), acknowledged.sort());
      found.push(`${format}, ${koffi}: 160 of 160`);
    }
  }
} finally {
  rmSync(outside, { recursive: true, force: true });
}
console.log(found.join("; "));
