#!/usr/bin/env node
// Starts the bundled command line. Written so that any Node can read it and say that it is too old.
var version = process.versions.node;
if (Number(version.split(".")[0]) < 24) {
  process.stderr.write(
    `hermes needs Node 24 or newer; this is Node ${version}. Update Node, then run it again.\n`,
  );
  process.exit(1);
} else {
  // Compiled code is kept between runs: measured, 46 instead of 53 ms for `hermes memory show`.
  process.getBuiltinModule("node:module").enableCompileCache();
  import("./cli/main.js");
}
