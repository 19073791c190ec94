// Child process: opens the session store at its first argument, read-only when the second says so, reads what is there,
// tries to write, and prints what it saw as one JSON object.
import { openSessionStore } from "../../src/sessions/index.ts";
import { outcomeOf } from "./every-call.ts";

const [path = "", mode = ""] = process.argv.slice(2);
await using store = await openSessionStore({ path, readOnly: mode === "read-only" });
const [newest] = await store.listSessionsRich({ orderByLastActive: true });
console.log(
  JSON.stringify({
    readOnly: store.readOnly,
    warnings: store.warnings.length,
    newest: newest?.id,
    messages: await store.messageCount(),
    health: (await store.file!.checkHealth()).ok,
    write: await outcomeOf(store.createSession("new")),
    hint: await store.createSession("new").catch((cause: { readonly hint?: string }) => cause.hint),
  }),
);
