// Child process of soak-stores.ts: works on a shared database until it is killed or its time is over, and reports every acknowledged
// change on stdout with a synchronous write, so that no report is still in a buffer when it is killed.
// Arguments: database, name of this writer, seconds.
import { writeSync } from "node:fs";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/internal/sessions";
import { messageText, SOAK_WORDS } from "./messages.ts";

const [path = "", name = "", seconds = "10"] = process.argv.slice(2);
const until = performance.now() + Number(seconds) * 1000;
const say = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`);

// With ten processes on two cores, one may wait long for the lock. That is not what this tests.
await using store = await openSessionStore({ path, waitLimitMs: 120_000 });
for (let session = 0; performance.now() < until; session += 1) await oneSession(store, `${name}-${session}`);

async function oneSession(sessions: SessionStore, id: string): Promise<void> {
  await sessions.createSession(id, {
    source: session(id) % 3 === 0 ? "cli" : "telegram",
    userId: `user-${id.length % 2}`,
  });
  for (let step = 0; step < 12 && performance.now() < until; step += 1) {
    const one = messageText(id, step * 10);
    say({ did: "add", session: id, ids: [await sessions.appendMessage(id, { role: "user", content: one })] });
    const many = Array.from({ length: 4 }, (_, at) => ({
      role: "assistant",
      content: messageText(id, step * 10 + at + 1),
    }));
    say({ did: "add", session: id, ids: await sessions.appendMany(id, many) });
    if (step % 4 === 3) await sessions.search(SOAK_WORDS[step % SOAK_WORDS.length] ?? "");
  }
  if (session(id) % 4 === 1) {
    const undone = await sessions.undoTurns(id, 2);
    say({ did: "undo", session: id, rows: undone?.rewound_count ?? 0 });
  }
  if (session(id) % 5 === 4) {
    say({ did: "deleting", session: id });
    await sessions.deleteSession(id);
    say({ did: "deleted", session: id });
  }
}

function session(id: string): number {
  return Number(id.slice(id.lastIndexOf("-") + 1));
}
