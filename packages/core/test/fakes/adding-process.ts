// Child process: adds numbered entries to one target as fast as it can and reports each commit.
// Arguments: directory, name, count, target.
import { MemoryStore, type MemoryTarget } from "../../src/index.ts";

const [dir = "", name = "", count = "1", target = "memory"] = process.argv.slice(2);
const store = new MemoryStore({
  dir,
  memoryCharLimit: 1_000_000,
  userCharLimit: 1_000_000,
  lockTimeoutMs: 60_000,
});
await store.load();
for (let index = 0; index < Number(count); index += 1) {
  const content = `note ${index} of writer ${name}`;
  const outcome = await store.apply(target as MemoryTarget, { action: "add", content });
  if (!outcome.ok) throw new Error(outcome.error.message);
  console.log(content);
}
