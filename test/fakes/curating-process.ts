// Child process: runs the curator on a home. Arguments: home, `apply` or `hang`. Each look at the clock is told on stdout, which
// happens at least once per change; with `hang` the model is asked and never answers.
import { loadConfig } from "../../src/config/index.ts";
import { runCurator } from "../../src/curator/index.ts";

const [home = "", how = "apply"] = process.argv.slice(2);
const config = await loadConfig(home);
if (!config.ok) throw new Error(config.error.message);
console.log("ready");
const clock = {
  now: () => {
    if (how === "apply") process.stdout.write("tick\n");
    return new Date();
  },
};
const model = {
  complete: () => {
    console.log("asked");
    return new Promise<string>(() => {});
  },
};
const done = await runCurator({
  home,
  config: config.value,
  mode: "apply",
  scope: "memory",
  clock,
  ...(how === "hang" ? { model } : {}),
});
console.log(JSON.stringify(done.ok ? { applied: done.value.decided.length } : done.error));
