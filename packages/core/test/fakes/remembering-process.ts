// Child process: opens the home at its first argument and says "ready". For each line `chat <tab> text <tab> reply <tab> id` it stores
// the exchange for the user `ana`, for `chat <tab> compact` it compacts the chat, for `chat <tab> forget` it deletes it. It prints what
// came of it as JSON: the outcome, or the code of the error.
import { createInterface } from "node:readline";
import { errnoCode } from "../../src/lib/index.ts";
import { openMemory } from "../../src/memory/index.ts";

const [home = ""] = process.argv.slice(2);
await using memory = await openMemory({ home });
const me = memory.user({ platform: "web", id: "ana" });
const model = { complete: async () => "## Goal\nCranes." };
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [chatId = "", text = "", reply, id = ""] = line.split("\t");
  const work = async (): Promise<object> => {
    if (reply === undefined && text === "forget") return { forgotten: await me.forgetChat(chatId) };
    if (reply === undefined && text === "compact") {
      const { kind } = await me.compact(chatId, { model, contextLength: 8_000, force: true });
      return { kind };
    }
    const { stored, known } = await me.remember(chatId, text, reply ?? "", id === "" ? {} : { id });
    return { stored, known };
  };
  const outcome = await work().catch((cause: unknown) => ({ code: errnoCode(cause) }));
  console.log(JSON.stringify(outcome));
}
