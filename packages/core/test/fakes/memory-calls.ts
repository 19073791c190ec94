// Child process: opens a store, makes the calls named in its arguments, prints each outcome as one line of JSON.
// Arguments: directory, store options (JSON), calls (JSON).

import type { MemoryStoreOptions } from "../../src/curated/index.ts";
import { type MemoryOp, MemoryStore, type MemoryTarget } from "../../src/index.ts";

export type MemoryCall =
  | { readonly call: "load" }
  | { readonly call: "snapshot"; readonly target: MemoryTarget }
  | { readonly call: "entries"; readonly target: MemoryTarget }
  | { readonly call: "warnings" }
  | { readonly call: "forget"; readonly text: string }
  | { readonly call: "apply"; readonly target: MemoryTarget; readonly op: MemoryOp };

const [dir = "", options = "{}", calls = "[]"] = process.argv.slice(2);
const store = new MemoryStore({ dir, ...(JSON.parse(options) as Omit<MemoryStoreOptions, "dir">) });

for (const call of JSON.parse(calls) as MemoryCall[]) {
  console.log(JSON.stringify((await run(call)) ?? null));
}

async function run(call: MemoryCall): Promise<unknown> {
  switch (call.call) {
    case "load":
      return store.load();
    case "snapshot":
      return store.renderSnapshot(call.target);
    case "entries":
      return store.entries(call.target);
    case "warnings":
      return store.warnings;
    case "forget":
      return store.forget(call.text);
    case "apply":
      return store.apply(call.target, call.op);
    default:
      return call satisfies never;
  }
}
