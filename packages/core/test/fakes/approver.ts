// Child process: says "ready", waits for a line on its input, then approves one pending write and prints the outcome.
// Arguments: memory directory, directory of pending writes, id.

import { once } from "node:events";
import { createInterface } from "node:readline";
import { approvePending } from "../../src/curated/index.ts";
import { MemoryStore } from "../../src/index.ts";

const [dir = "", pending = "", id = ""] = process.argv.slice(2);
const store = new MemoryStore({ dir });
await store.load();
console.log("ready");
const input = createInterface({ input: process.stdin });
await once(input, "line");
const outcome = await approvePending(store, pending, id);
console.log(outcome.ok ? "approved" : outcome.error.kind);
input.close();
process.stdin.destroy();
