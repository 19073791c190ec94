// Bundles of esbuild, as ES modules and as CommonJS: four processes of one bundle add 40 entries each, and every one is in the file.
// The locks: koffi, where it can be found from the bundle; else flock(1) and the SQLite mutex; else the mutex alone, and the writes
// say that it does not keep the Python program out.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { entriesIn, folder, inRoot, makeHome, node } from "../kit.ts";

const PROCESSES = ["a", "b", "c", "d"];
const outside = mkdtempSync(join(tmpdir(), "hermes-consumer-")); // no node_modules above it
const LOCKS = [
  { name: "koffi", place: folder, env: {} },
  { name: "flock(1)", place: outside, env: {} },
  { name: "mutex", place: outside, env: { PATH: "" } },
];
const found: string[] = [];
try {
  for (const format of ["esm", "cjs"] as const) {
    for (const { name, place, env } of LOCKS) {
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
      const home = makeHome(`home-${format}-${name}`);
      const outputs = await Promise.all(
        PROCESSES.map(async (each) => JSON.parse(await node([bundle, home, each], { cwd: place, env }))),
      );
      const acknowledged = outputs.flatMap(({ texts }) => texts as string[]);
      assert.equal(acknowledged.length, 160);
      assert.deepEqual(entriesIn(home).sort(), acknowledged.sort());
      for (const { hasKoffi, warnings: told } of outputs) {
        if (process.platform === "linux") assert.equal(hasKoffi, name === "koffi");
        assert.equal(
          /koffi cannot be loaded.*flock\(1\) is not installed/s.test(told.join()),
          name === "mutex",
          told.join(),
        );
      }
      found.push(`${format} ${name}`);
    }
  }
} finally {
  rmSync(outside, { recursive: true, force: true });
}
console.log(`160 of 160 each: ${found.join(", ")}`);
