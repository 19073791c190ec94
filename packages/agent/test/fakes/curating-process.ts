// Child process: runs the curator on a home. Arguments: home, and how: `apply` (memory), `hang`, `apply-all`, `stage-all` (memory
// and skills, with a model) or `rollback`. With `apply` each look at the clock is told on stdout, which happens at least once per
// change; with `hang` the model is asked and never answers. A third argument is the reply of the model.
import { loadConfig } from "@hermes-memory/core/config";
import { findRollback, rollBack, runCurator } from "../../src/curator/index.ts";

const [home = "", how = "apply", reply = "{}"] = process.argv.slice(2);
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
    return how === "hang" ? new Promise<string>(() => {}) : Promise.resolve(reply);
  },
};
if (how === "rollback") {
  const plan = findRollback({ home, config: config.value });
  if (plan.ok) await rollBack(plan.value, { home, config: config.value });
} else {
  const done = await runCurator({
    home,
    config: config.value,
    mode: how === "stage-all" ? "propose" : "apply",
    scope: how.endsWith("-all") ? "all" : "memory",
    clock,
    ...(how === "apply" ? {} : { model }),
  });
  console.log(JSON.stringify(done.ok ? { applied: done.value.decided.length } : done.error));
}
