// Child process: runs the curator on a home. Arguments: home, and how: `apply` (memory), `hang`, `apply-all`, `stage-all` (memory
// and skills, with a model) or `rollback`. With `apply` each look at the clock is told on stdout, which happens at least once per
// change; with `hang` the model is asked and never answers. A third argument is the reply of the model.
import { openHome } from "@hermes-memory/core/internal/memory";
import { findRollback, rollBack, runCurator } from "../../src/curator/index.ts";

const [home = "", how = "apply", reply = "{}"] = process.argv.slice(2);
const clock = {
  now: () => {
    if (how === "apply") process.stdout.write("tick\n");
    return new Date();
  },
};
const memory = openHome({ home, clock });
await memory.config();
console.log("ready");
if (how === "hang") setInterval(() => {}, 60_000); // a promise that nobody settles does not keep a process alive
const model = {
  complete: () => {
    console.log("asked");
    return how === "hang" ? new Promise<string>(() => {}) : Promise.resolve(reply);
  },
};
if (how === "rollback") {
  const plan = await findRollback(memory);
  if (plan.ok) await rollBack(plan.value, memory);
} else {
  const done = await runCurator({
    memory,
    mode: how === "stage-all" ? "propose" : "apply",
    scope: how.endsWith("-all") ? "all" : "memory",
    model: how === "apply" ? undefined : model,
  });
  console.log(JSON.stringify(done.ok ? { applied: done.value.decided.length } : done.error));
}
