// Child process: erases the user `ana` on `web` of the home in its first argument, and says so when it begins and when it is done.
import { openMemory } from "../../src/index.ts";

const [home = ""] = process.argv.slice(2);
await using memory = await openMemory({ home });
await memory.user({ platform: "web", id: "ana" }).layers.sessions({ mode: "write" });
console.log("begins");
await memory.user({ platform: "web", id: "ana" }).erase();
console.log("done");
