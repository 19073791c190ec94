// External memory in your own agent: what a provider recalls for a turn, and the events it gets.
// Run it in a checkout: node examples/use-provider.ts
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  buildMemoryContextBlock,
  MemoryManager,
  memoryTool,
  openHome,
  StreamingContextScrubber,
} from "hermes-memory";
import { injectRecall, writeMetadata } from "hermes-memory/providers";
import createNotesProvider from "./memory-plugin/index.ts";

const home = mkdtempSync(join(tmpdir(), "hermes-example-")); // a real agent uses the user's home: ~/.hermes
const session_id = "session-1";

// 1. Register and start. To use the provider that the user has set up, call openHome({ home }).owner.provider.activate({ sessionId }).
const manager = new MemoryManager({ home });
manager.addProvider(createNotesProvider());
await manager.initializeAll(session_id, { platform: "cli", agent_context: "primary" });
console.log("system prompt:", await manager.buildSystemPrompt());
console.log("tools:", [...manager.getAllToolNames()]);

// 2. A turn is over. The user does not wait: a background worker stores it.
manager.finishTurn({ session_id, user: "We fire the kiln at 1240 degrees.", assistant: "Noted." });
await manager.flushPending(); // only because the next question follows at once

// 3. The next turn: the fenced recall is appended to the user's message, for this request only and never in the transcript.
const message = "How hot is the kiln?";
await manager.onTurnStart(2, message);
const recalled = await manager.prefetchAll(message, { session_id });
console.log(`request:\n${injectRecall(message, buildMemoryContextBlock(recalled))}`);

// 4. If the model repeats the fence in its answer, the scrubber removes it from the stream.
const scrubber = new StreamingContextScrubber();
const chunks = ["1240 degrees.\n<memory-", "context>\nAsked: We fire", " the kiln\n</memory-context>\n"];
console.log("shown:", chunks.map((chunk) => scrubber.feed(chunk)).join("") + scrubber.flush());

// 5. The model calls one of the provider's tools. The answer is JSON, also for an error.
console.log("tool:", await manager.handleToolCall("notes_find", { text: "kiln" }));
console.log("tool:", await manager.handleToolCall("notes_find", {}));

// 6. Only committed writes of the built-in memory are mirrored.
const memory = openHome({ home });
const call = { action: "add", target: "user", content: "Owns a kiln called Vesuvius" };
await memoryTool(await memory.administrator.curated(), call, {
  home,
  onCommitted: ({ target, op }) => {
    const content = op.action === "remove" ? "" : op.content;
    const oldText = op.action === "add" ? undefined : op.oldText;
    manager.onMemoryWrite(op.action, target, content, writeMetadata({ sessionId: session_id, oldText }));
  },
});

// 7. The end. Queued turns are stored first, within five seconds.
await manager.onSessionEnd([{ role: "user", content: message }]);
console.log("tool:", await manager.handleToolCall("notes_find", { text: "Vesuvius" }));
await manager.shutdownAll();
await memory.close();

rmSync(home, { recursive: true });
