// A wire in a process of its own, for tests that kill the agent or watch it from outside.
//
//   node scripted-process.ts chat script.json '{"contextLength":20000}'
//
// A JSON file has the list of steps; a failure is written as its helper in script.ts returns it, e.g. {"status":400,
// "kind":"overflow","limitTokens":20000}. Any other file is a module whose default export is the script, for answers that
// depend on the request. The first line on stdout is the URL, then comes a line of JSON for each model call when it arrives,
// `{"request":{...}}`, for each that the client gave up, `{"aborted":0}`, and when the script has no step left,
// `{"problem":"..."}`. Ends with its stdin, so that it does not outlive whoever started it.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { WireOptions } from "./format.ts";
import type { Script, WireKind } from "./script.ts";
import { startWire } from "./start-wire.ts";

const [, , kind = "chat", scriptFile = "", options = "{}"] = process.argv;

const script = await readScript();
const wire = await startWire(kind as WireKind, script, {
  ...(JSON.parse(options) as WireOptions),
  onProblem: (problem) => say(JSON.stringify({ problem })),
});
process.stdin.resume().once("close", () => process.exit(0));
say(wire.url);

for (let n = 0; ; n += 1) {
  const request = await wire.waitForRequest(n);
  say(JSON.stringify({ request }));
  void wire.waitForAbort(n).then(() => say(JSON.stringify({ aborted: n })));
}

async function readScript(): Promise<Script> {
  if (scriptFile.endsWith(".json")) return JSON.parse(readFileSync(scriptFile, "utf8")) as Script;
  const module = (await import(pathToFileURL(resolve(scriptFile)).href)) as { readonly default: Script };
  return module.default;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
