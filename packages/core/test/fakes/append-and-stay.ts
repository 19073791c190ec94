// Child process: appends one message, says so, and keeps the store open until it is spoken to.
// Arguments: path, session, content.
import { once } from "node:events";
import { createInterface } from "node:readline";
import { openSessionStore } from "../../src/index.ts";

const [path = "", session = "", content = ""] = process.argv.slice(2);
await using store = await openSessionStore({ path });
await store.appendMessage(session, { role: "user", content });
console.log("stored");
const input = createInterface({ input: process.stdin });
await once(input, "line");
input.close();
process.stdin.destroy();
