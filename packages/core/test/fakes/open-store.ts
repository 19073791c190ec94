// Child process: says "ready", waits for a line, opens the session store at its argument and says what it found.
import { once } from "node:events";
import { openSessionStore } from "../../src/sessions/index.ts";

const [path = ""] = process.argv.slice(2);
console.log("ready");
await once(process.stdin, "data");
const store = await openSessionStore({ path });
const messages = await store.messageCount();
console.log(JSON.stringify({ readOnly: store.readOnly, warnings: store.warnings, messages }));
await store.close();
process.stdin.destroy();
