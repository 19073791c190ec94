// Stored conversations: what an agent stores, how a long one continues after a compaction, and how to read it back.
// Run it in a checkout: node examples/converse.ts
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSessionStore } from "hermes-memory";
import { newSessionId } from "hermes-memory/sessions";

const home = mkdtempSync(join(tmpdir(), "hermes-example-")); // a real agent uses the user's home: ~/.hermes

{
  await using store = await openSessionStore({ path: join(home, "state.db") });

  // 1. A session and its messages. When an append resolves, the message is on disk and in the search index.
  const id = await store.createSession(newSessionId(new Date()), {
    source: "cli",
    userId: "ana",
    cwd: "/srv/kiln",
  });
  await store.setSessionTitle(id, "Kiln firmware");
  await store.appendMessage(id, { role: "user", content: "Why does the kiln stop at 1150 degrees?" });
  const call = { name: "read_file", arguments: JSON.stringify({ path: "src/limits.ts" }) };
  await store.appendMany(id, [
    { role: "assistant", content: "", toolCalls: [{ id: "c1", type: "function", function: call }] },
    { role: "tool", content: "export const MAX = 1150;", toolName: "read_file", toolCallId: "c1" },
    { role: "assistant", content: "The limit in src/limits.ts is 1150.", finishReason: "stop" },
  ]);

  // 2. Undo a turn, and restore it.
  await store.appendMessage(id, { role: "user", content: "Delete everything" });
  console.log("undone:", await store.undoTurns(id));

  // 3. The context is full: the old session ends and its continuation starts, in one transaction.
  const summary = { role: "user", content: "[Earlier: the limit is MAX in src/limits.ts]" };
  const next = await store.continueSession(id, { messages: [summary] });
  console.log("continues as:", next.title);

  const ana = store.forUser({ platform: "cli", userId: "ana" }); // a store in which only her sessions exist

  // 4. A listing has one line for the whole conversation, and it can be read from its beginning.
  const [listed] = await ana.listSessionsRich({ orderByLastActive: true });
  console.log("listed:", listed?.title, "-", listed?.preview);
  const whole = await store.getMessagesAsConversation(next.id, { includeAncestors: true });
  for (const { role, content } of whole) console.log(`${role}: ${content}`);

  // 5. Other users do not see it.
  console.log(
    "for somebody else:",
    await store.forUser({ platform: "cli", userId: "ben" }).listSessionsRich(),
  );
}
rmSync(home, { recursive: true });
