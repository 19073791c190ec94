#!/usr/bin/env node
// The `hermes` program of the checkout: starts the hook of another agent without the command line, everything else with it. In the
// published package, scripts/launcher.js does the same.
const [, , command, ...words] = process.argv;
if (command === "hook" && words.length > 1 && !words.includes("--help")) await import("./hook/main.ts");
else await import("./start.ts");

export {};
