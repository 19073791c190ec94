// Child process: opens the session store at its first argument and takes the lease of session `s1` as the holder of its second.
// Says "ready", then for each line: "take" (by the time of the third argument), "release", "who"; the outcome as JSON. Any other
// line is a title for the session that has the holder's name.
import { createInterface } from "node:readline";
import { openSessionStore } from "../../src/sessions/index.ts";
import { outcomeOf } from "./every-call.ts";

const [path = "", holder = "", ttl = "60"] = process.argv.slice(2);
const store = await openSessionStore({ path });
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const isTitle = !["take", "release", "who"].includes(line);
  if (isTitle) console.log(JSON.stringify(await outcomeOf(store.setSessionTitle(holder, line))));
  if (line === "take")
    console.log(JSON.stringify(await store.acquireSessionLease("s1", holder, { ttl: Number(ttl) })));
  if (line === "release")
    console.log(JSON.stringify((await store.releaseSessionLease("s1", holder)) ?? null));
  if (line === "who") console.log(JSON.stringify(await store.getSessionLease("s1")));
}
await store.close();
