// A user's program, with @hermes-memory/core and @hermes-memory/providers installed: core finds the provider by its name.
import { loadMemoryConfig } from "@hermes-memory/core/internal/config";
import { activateProvider } from "@hermes-memory/core/internal/providers";

const home = process.argv[2] ?? "";
const memoryConfig = await loadMemoryConfig(home);
if (!memoryConfig.ok) throw new Error("the config cannot be read");
const config = { ...memoryConfig.value, provider: "holographic" };
const activation = await activateProvider({ home, config, sessionId: "s1" });
if (activation.kind !== "active") throw new Error(`the provider is ${activation.kind}`);
const { manager } = activation;
const [tool = ""] = [...manager.getAllToolNames()];
const stored = await manager.handleToolCall(tool, { action: "add", content: "The kiln is called Vesuvius" });
await manager.onTurnStart(1, "What is the kiln called?");
const recalled = await manager.prefetchAll("What is the kiln called?", { session_id: "s1" });
await manager.shutdownAll();
console.log(JSON.stringify([tool, JSON.parse(stored), recalled.includes("Vesuvius")]));
