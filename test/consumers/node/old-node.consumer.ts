// On a Node that is too old, importing any of the packages fails with one sentence that says what is needed and what is running.
// Tried with this Node claiming to be old, and with every old Node that PATH has.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { folder, tryNode } from "../kit.ts";

const PACKAGES = [
  "@hermes-memory/core",
  "@hermes-memory/core/sessions",
  "@hermes-memory/agent",
  "hermes-memory",
];

const claim = join(folder, "claim.mjs");
writeFileSync(
  claim,
  'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.11.0" } });\n',
);
const nodes = [{ path: process.execPath, flags: ["--import", claim], version: "20.11.0" }];
for (const directory of (process.env.PATH ?? "").split(delimiter)) {
  const path = join(directory, "node");
  if (!existsSync(path)) continue;
  const version = (await tryNode(["-p", "process.versions.node"], {}, path)).stdout.trim();
  if (Number.parseInt(version, 10) < 24) nodes.push({ path, flags: [], version });
}

for (const { path, flags, version } of nodes) {
  for (const name of PACKAGES) {
    const script = `import(${JSON.stringify(name)}).catch((error) => console.log(error.name, error.code, error.message))`;
    const { stdout, stderr, code } = await tryNode([...flags, "-e", script], {}, path);
    const [, first = ""] =
      /^HermesError unsupported-node (\S+) needs Node 24 or newer; this is Node /.exec(stdout) ?? [];
    assert.match(first, /^@hermes-memory\/(core|agent)$/, `${name} on ${version}: ${stdout}${stderr}`);
    assert.ok(stdout.includes(`this is Node ${version}.`), stdout);
    assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
  }
}
console.log(`${PACKAGES.length} imports on ${nodes.map(({ version }) => version).join(", ")}`);
