#!/usr/bin/env node
// Starts the bundled command line. Any Node can parse this file, so an old one can print that it is too old.
var version = process.versions.node;
if (Number(version.split(".")[0]) < 24) {
  process.stderr.write(
    `hermes needs Node 24 or newer; this is Node ${version}. Update Node, then run it again.\n`,
  );
  process.exit(1);
} else {
  // Caches compiled code between runs: 46 instead of 53 ms for `hermes memory show`.
  process.getBuiltinModule("node:module").enableCompileCache();
  import("./cli/main.js");
}
