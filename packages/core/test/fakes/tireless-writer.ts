// Child process: writes without end until it is killed. Says "ready", then reports every change before it starts it and
// after it is committed, with a plain write so that nothing waits in a buffer when the kill comes.
// Arguments: directory, name, size of the texts.
import { writeSync } from "node:fs";
import { MemoryStore } from "../../src/index.ts";

const [dir = "", name = "", size = "200"] = process.argv.slice(2);
const store = new MemoryStore({
  dir,
  memoryCharLimit: 50_000,
  overflow: "archive",
  historyMaxBytes: 60_000,
  historyKeep: 10,
});
await store.load();
writeSync(1, "ready\n");
for (let round = 0; ; round += 1) {
  const content = `${name}-${round} ${"wool ".repeat(Number(size) / 5)}end`;
  const first = store.entries("memory")[0];
  const outcome =
    store.entries("memory").length > 6 && first
      ? await store.applyAll("memory", [
          { action: "remove", oldText: first },
          { action: "add", content },
        ])
      : await store.apply("memory", { action: "add", content });
  if (!outcome.ok) throw new Error(outcome.error.message);
  writeSync(1, `${content.split(" ")[0]}\n`);
}
