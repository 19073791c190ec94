// Child process on a small file system: fills it through the session store, then makes room and goes on. Prints what
// happened as one JSON object. Arguments: folder.
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openSessionStore, type SessionStore } from "../../src/sessions/index.ts";
import { outcomeOf } from "./every-call.ts";

const [folder = ""] = process.argv.slice(2);
const ballast = join(folder, "ballast");
const path = join(folder, "state.db");

const store = await openSessionStore({ path });
await store.createSession("a", { source: "cli" });
await store.appendMessage("a", { role: "user", content: "first" });
fillUp();
const full: unknown[] = [];
const message = (index: number) => ({ role: "user", content: `${index} ${"harbour crane ".repeat(300)}` });
let stored = 1;
// What fits into the blocks the log already has still goes through.
for (let index = 0; full.length === 0 && index < 10_000; index += 1) {
  const outcome = await outcomeOf(store.appendMessage("a", message(index)));
  if (typeof outcome === "object" && outcome !== null && "value" in outcome) stored += 1;
  else full.push(outcome);
}
const many = Array.from({ length: 200 }, (_, index) => message(index));
full.push(await outcomeOf(store.appendMany("a", many)));
full.push(await outcomeOf(store.replaceMessages("a", many)));
full.push(await outcomeOf(store.continueSession("a", { id: "next", messages: many })));
const whileFull = await countRows(store);
const other = await outcomeOf(openSessionStore({ path: join(folder, "other.db") }));

rmSync(ballast);
await store.appendMany("a", many);
const continued = await store.continueSession("a", { id: "next", messages: many });
const health = await store.file!.checkHealth();
const afterwards = await countRows(store);
await store.close();
await using again = await openSessionStore({ path });
const reopened = await countRows(again);
console.log(
  JSON.stringify({
    full: full.map(String),
    other: String(other),
    stored,
    whileFull,
    continued: continued.messageIds.length,
    health,
    afterwards,
    reopened,
  }),
);

function fillUp(): void {
  const fd = openSync(ballast, "w");
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeSync(fd, block);
  } catch {
    // Full, as wanted.
  }
  fsyncSync(fd);
  closeSync(fd);
}

async function countRows(on: SessionStore): Promise<unknown> {
  const session = await on.getSession("a");
  return {
    sessions: await on.sessionCount(),
    rows: (await on.getMessages("a")).length,
    counted: session?.message_count,
    ended: session?.end_reason,
  };
}
