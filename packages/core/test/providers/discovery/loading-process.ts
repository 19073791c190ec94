// A process without a test runner, in which Node itself imports the plugins. Each line of input is `home\tname\tms`, each line of output the
// outcome.
import { createInterface } from "node:readline";
import { loadProvider } from "../../../src/providers/discovery/load-provider.ts";

const strays: string[] = [];
for await (const line of createInterface({ input: process.stdin })) {
  const [home = "", name = "", timeoutMs] = line.split("\t");
  const loaded = await loadProvider(home, name, {
    timeoutMs: Number(timeoutMs),
    onStray: (cause) => strays.push(String(cause)),
  });
  // Work that a plugin did not await fails after the microtasks of this turn.
  await new Promise((resolve) => setImmediate(resolve));
  const outcome = loaded.ok
    ? { name: loaded.value.provider.name, available: await loaded.value.provider.isAvailable() }
    : loaded.error;
  console.log(JSON.stringify({ ...outcome, strays: strays.splice(0) }));
}
