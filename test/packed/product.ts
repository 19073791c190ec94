// A user's program, with hermes-memory: both packages below it through one name, and the same classes.
import { createAgent } from "@hermes-memory/agent";
import { MemoryStore } from "@hermes-memory/core";
import * as product from "hermes-memory";

const store: MemoryStore = new product.MemoryStore({ dir: `${process.argv[2]}/memories` });
const loaded = await store.load();
console.log(
  JSON.stringify([loaded.ok, product.MemoryStore === MemoryStore, product.createAgent === createAgent]),
);
