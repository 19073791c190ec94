// Child process: opens the session store at its argument and optimizes it. Says each step of progress, then the outcome or
// the code of the error, one JSON value a line.
import { HermesError } from "../../src/lib/index.ts";
import { openSessionStore } from "../../src/sessions/index.ts";

const [path = ""] = process.argv.slice(2);
const say = (value: unknown) => console.log(JSON.stringify(value));
await using store = await openSessionStore({ path });
try {
  say(await store.file!.optimize({ onProgress: say }));
} catch (cause) {
  say({ error: cause instanceof HermesError ? cause.code : String(cause) });
}
