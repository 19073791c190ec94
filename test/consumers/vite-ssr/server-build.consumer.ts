// A server build of Vite: as it comes, where packages stay outside, and with everything in one bundle (`noExternal`). Four processes
// of each add 40 entries, and every one is in the file.
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { entriesIn, folder, inRoot, makeHome, node } from "../kit.ts";

copyFileSync(inRoot("test/consumers/esbuild/adder.ts"), join(folder, "adder.ts"));
for (const noExternal of [undefined, true] as const) {
  const name = noExternal ? "bundled" : "external";
  await build({
    root: folder,
    configFile: false,
    logLevel: "warn",
    build: { ssr: "adder.ts", outDir: name },
    ssr: noExternal ? { noExternal } : {},
  });
  const home = makeHome(`home-${name}`);
  const outputs = await Promise.all(
    ["a", "b", "c", "d"].map((each) => node([join(folder, name, "adder.js"), home, each])),
  );
  const acknowledged = outputs.flatMap((output) => JSON.parse(output).texts as string[]);
  assert.equal(acknowledged.length, 160);
  assert.deepEqual(entriesIn(home).sort(), acknowledged.sort());
}
console.log("external and bundled, 4 x 40: 160 of 160 each");
