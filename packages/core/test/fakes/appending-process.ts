// Child process: appends messages to a session of its own, one by one, and reports each with its id and the hash of its
// content once the store has acknowledged it, with a plain write so that nothing waits in a buffer when a kill comes.
// Says "ready" first and begins when it is told a line. Arguments: database, session, how many messages.
import { once } from "node:events";
import { writeSync } from "node:fs";
import { openSessionStore } from "../../src/sessions/index.ts";
import { contentHash, messageAt } from "./varied-messages.ts";

const [path = "", session = "", count = "1"] = process.argv.slice(2);
// Six processes on two cores can keep one of them waiting for long; that is not what is tested.
const store = await openSessionStore({ path, waitLimitMs: 120_000 });
await store.createSession(session, { source: "cli" });
writeSync(1, "ready\n");
await once(process.stdin, "data");
process.stdin.destroy();
for (let index = 0; index < Number(count); index += 1) {
  const message = messageAt(session, index);
  const id = await store.appendMessage(session, message);
  writeSync(1, `${id} ${contentHash(message.content)}\n`);
}
await store.close();
