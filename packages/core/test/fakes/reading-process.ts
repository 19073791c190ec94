// Child process: reads sessions over and over until its input ends, opening the database anew every few passes, and fails
// when what it sees at one moment does not fit together or something it saw before is gone.
// Says "ready" after the first pass, and how many passes it made at the end. Arguments: database, mode ("read-only" or not).
import { writeSync } from "node:fs";
import { openSessionStore, type SessionStore } from "../../src/sessions/index.ts";

const [path = "", mode = ""] = process.argv.slice(2);
const PASSES_PER_OPEN = 5;
const seen = new Map<string, number>();
let passes = 0;
let isOver = false;
process.stdin.on("end", () => {
  isOver = true;
});
process.stdin.resume();

while (!isOver) {
  await using store = await openSessionStore({ path, readOnly: mode === "read-only", waitLimitMs: 120_000 });
  for (let pass = 0; pass < PASSES_PER_OPEN && !isOver; pass += 1) {
    await look(store);
    passes += 1;
    if (passes === 1) writeSync(1, "ready\n");
  }
}
writeSync(1, `${passes}\n`);

/** One of the conversations that were active last, as it was at one moment. */
async function look(store: SessionStore): Promise<void> {
  const listed = await store.listSessionsRich({ orderByLastActive: true, limit: 6 });
  const id = listed[passes % Math.max(1, listed.length)]?.id;
  if (id === undefined) return;
  const exported = await store.exportSession(id, { includeInactive: true });
  if (exported === null) throw new Error(`${id} was listed and is gone`);
  const rows = exported.messages.length;
  if (rows !== exported.message_count) throw new Error(`${id} counts ${exported.message_count}, has ${rows}`);
  if (rows < (seen.get(id) ?? 0)) throw new Error(`${id} had ${seen.get(id)} messages, now ${rows}`);
  seen.set(id, rows);
  const isOrdered = exported.messages.every((row, at, all) => at === 0 || (all[at - 1]?.id ?? 0) < row.id);
  if (!isOrdered) throw new Error(`the ids of ${id} are out of order`);
}
