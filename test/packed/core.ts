// A user's program, with only @hermes-memory/core installed: each layer through its subpath. Prints what it saw as JSON.
// package.slow.test.ts runs it and checks its types; to try another Node, copy it beside an installed package (decision 0006).
import { writeFileSync } from "node:fs";
import { openMemory } from "@hermes-memory/core";
import { ContextCompressor, LosslessEngine } from "@hermes-memory/core/internal/context";
import { type MemoryOpOutcome, MemoryStore, memoryTool } from "@hermes-memory/core/internal/curated";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import { loadProvider } from "@hermes-memory/core/internal/providers";
import { newSessionId, openSessionStore, sessionSearchTool } from "@hermes-memory/core/internal/sessions";
import { SkillStore, skillManageTool, skillsListTool } from "@hermes-memory/core/internal/skills";

const home = process.argv[2] ?? "";
const seen: Record<string, unknown> = {};

const store = new MemoryStore({ dir: `${home}/memories` });
await store.load();
const outcome = await store.apply("user", { action: "add", content: "Prefers tea" });
const value: MemoryOpOutcome | undefined = outcome.ok ? outcome.value : undefined;
const answer: object = await memoryTool(store, {
  action: "add",
  target: "memory",
  content: "The kiln is hot",
});
const undone = await store.undo();
// @ts-expect-error: there is no such target, and the published types say so
const refused = await store.apply("nobody", { action: "add", content: "x" });
seen.curated = [value?.message, answer, undone.ok, store.entries("user"), refused.ok];

const sessions = await openSessionStore({ path: `${home}/state.db` });
const id = await sessions.createSession(newSessionId(new Date()), { source: "cli" });
await sessions.appendMessage(id, { role: "user", content: "Why does the kiln stop at 1150 degrees?" });
await sessions.appendMessage(id, { role: "assistant", content: "Its controller has a limit." });
await sessions.appendMessage(id, { role: "user", content: `${"glaze ".repeat(200_000)}celadon` }); // indexed by a thread
const found = await sessions.searchMessages("kilns");
let large = await sessions.searchMessages("celadon");
for (let i = 0; i < 100 && large.length === 0; i += 1) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  large = await sessions.searchMessages("celadon");
}
const searched = await sessionSearchTool(sessions, { query: "controller limit" });
seen.sessions = [found.length, large.length, searched];

const summarizer = { complete: async () => "## Goal\nFire the kiln." };
const long: OpenAiMessage[] = Array.from({ length: 40 }, (_, i) => ({
  role: i % 2 === 0 ? "user" : "assistant",
  content: `Step ${i}. ${"The kiln is fired slowly. ".repeat(120)}`,
}));
const compacted = await new ContextCompressor({ contextLength: 16_000, summarizer }).compress(long);
seen.context = [compacted.kind, compacted.messages.length < long.length, typeof LosslessEngine];

const provider = await loadProvider(home, "holographic");
seen.providers = provider.ok ? provider.value.found.name : provider.error.message;

const skills = new SkillStore({ home });
const content = "---\nname: fire\ndescription: How to fire the kiln\n---\nHeat it slowly.\n";
const made = await skillManageTool(skills, { action: "create", name: "fire", content });
seen.skills = [made, await skillsListTool(skills, {})];

await sessions.close();

writeFileSync(`${home}/config.yaml`, "memory:\n  provider: holographic\n");
await using memory = await openMemory({ home });
await memory.owner.context("chat", { query: "How hot is the kiln?" }); // starts the provider, or warns
console.log(JSON.stringify(seen));
