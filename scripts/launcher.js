#!/usr/bin/env node
// Starts the bundled command line. Any Node can parse this file, so an old one can print that it is too old.
var version = process.versions.node;
// The hook of another agent is answered without the command line. src/cli/main.ts has the same condition.
var words = process.argv.slice(3);
var isHook = process.argv[2] === "hook" && words.length > 1 && words.indexOf("--help") < 0;
if (Number(version.split(".")[0]) < 24) {
  process.stderr.write(
    `hermes needs Node 24 or newer; this is Node ${version}. Update Node, then run it again.\n`,
  );
  process.exit(1);
} else {
  // Caches compiled code between runs: 46 instead of 53 ms for `hermes memory show`.
  process.getBuiltinModule("node:module").enableCompileCache();
  import(isHook ? "./cli/hook.js" : "./cli/main.js");
}
