// Memory in your own agent: the block for the system prompt, the tool for the model, history and undo.
// Run it in a checkout: node examples/remember.ts
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryTool, memoryToolSchema, openHome } from "hermes-memory";

const home = mkdtempSync(join(tmpdir(), "hermes-example-")); // a real agent uses the user's home: ~/.hermes

const memory = openHome({ home }); // opens nothing by itself
const store = await memory.administrator.curated(); // for one user of several: memory.user({ platform: "telegram", id: "7" }).curated()
if (store === undefined) throw new Error("config.yaml switches memory off");

// 1. Pass the schema to the model, and its calls to memoryTool. The answer is JSON for the model.
console.log("tool:", memoryToolSchema.name, memoryToolSchema.parameters.required);
const call = { action: "add", target: "user", content: "Lives in Lisbon, prefers metric units" };
console.log("answer:", await memoryTool(store, call, { home, sessionId: "session-1" }));

// 2. A session's prompt is frozen when it starts, so that its cached prefix stays valid. The next session sees the new entry.
console.log("this session:", store.renderSnapshot("user"));
await store.load();
console.log(`next session:\n${store.renderSnapshot("user")}`);

// 3. Several operations as one change, with a reason; then undo it.
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
