// Child process: opens the home at its first argument and says "ready". For each line `chat <tab> text <tab> reply <tab> id` it stores
// the exchange for the user `ana` and prints what was stored, as JSON.
import { createInterface } from "node:readline";
import { openMemory } from "../../src/memory/index.ts";

const [home = ""] = process.argv.slice(2);
await using memory = await openMemory({ home });
const me = memory.user({ platform: "web", id: "ana" });
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [chatId = "", text = "", reply = "", id = ""] = line.split("\t");
  const { stored, known } = await me.remember(chatId, text, reply, id === "" ? {} : { id });
  console.log(JSON.stringify({ stored, known }));
}
