// Memory in an agent of your own: what goes into the system prompt, what the model may call, and how to look back.
// Run it in a checkout: node examples/remember.ts
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryTool, memoryToolSchema, openMemory } from "hermes-memory";

const home = mkdtempSync(join(tmpdir(), "hermes-example-")); // a real agent uses the user's home: ~/.hermes

const memory = openMemory({ home }); // opens nothing by itself
const store = await memory.owner.curated(); // for one user of several: memory.user({ platform: "telegram", id: "7" }).curated()
if (store === undefined) throw new Error("config.yaml switches memory off");

// 1. Hand the schema to the model, and its calls to memoryTool. The answer is JSON for the model.
console.log("tool:", memoryToolSchema.name, memoryToolSchema.parameters.required);
const call = { action: "add", target: "user", content: "Lives in Lisbon, prefers metric units" };
console.log("answer:", await memoryTool(store, call, { home, sessionId: "session-1" }));

// 2. What a session's prompt shows is frozen when it starts, so that its cached prefix stays valid. The next one sees more.
console.log("this session:", store.renderSnapshot("user"));
await store.load();
console.log(`next session:\n${store.renderSnapshot("user")}`);

// 3. Several operations as one change, with a reason; and taking it back.
const outcome = await store.applyAll(
  "user",
  [
    { action: "replace", oldText: "Lisbon", content: "Lives in Porto, prefers metric units" },
    { action: "add", content: "Writes TypeScript" },
  ],
  { origin: "curator", reason: "moved house" },
);
if (!outcome.ok) throw new Error(outcome.error.message);
for (const { action, origin, reason } of store.history())
  console.log("history:", action, origin, reason ?? "");
await store.undo();
console.log("after undo:", store.entries("user"));

await memory.close();
rmSync(home, { recursive: true });
