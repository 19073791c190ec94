// Child process: appends messages of 40 kB to a session of its own until it is killed. Says "ready" first.
import { openSessionStore } from "../../src/sessions/index.ts";

const [path = "", session = ""] = process.argv.slice(2);
const store = await openSessionStore({ path });
await store.createSession(session, { source: "cli" });
console.log("ready");
for (let row = 0; ; row += 1)
  await store.appendMessage(session, { role: "user", content: `${session} ${row} ${"lamp ".repeat(8000)}` });
