// A complete memory provider: notes in a file, recalled by the words they share with a message. To use it, copy this folder to
// ~/.hermes/plugins/notes and run: hermes memory setup notes
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MemoryProvider, ToolDefinition } from "hermes-memory";
import { NotesFile } from "./notes-file.ts";

const parameters = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const TOOLS: readonly ToolDefinition[] = [
  { name: "notes_add", description: "Keep a note for later conversations.", parameters },
  { name: "notes_find", description: "Find notes that share words with a text.", parameters },
];

export default function createNotesProvider(): MemoryProvider {
  let notes: NotesFile | undefined;
  let mode = "hybrid";
  let isPrimary = false;
  const opened = (): NotesFile => notes ?? fail("The notes are not open.");

  return {
    name: "notes",
    isAvailable: () => true,
    initialize(_sessionId, { hermes_home, agent_context = "primary", platform, user_id }) {
      const settings = join(hermes_home, "notes.json");
      if (existsSync(settings)) mode = JSON.parse(readFileSync(settings, "utf8")).mode;
      isPrimary = agent_context === "primary";
      // Each user has separate notes; the same id on another platform is another user.
      const whose = user_id === undefined ? "" : `.${encodeURIComponent(`${platform}:${user_id}`)}`;
      notes = new NotesFile(join(hermes_home, `notes${whose}.jsonl`));
    },
    systemPromptBlock: () => "# Notes\nA notebook of your own that outlasts this conversation.",
    prefetch: (query) => (mode === "tools" ? "" : opened().find(query).join("\n\n")),
    syncTurn(user, assistant) {
      const text = `Asked: ${user}\nAnswered: ${assistant}`.slice(0, 1000).toWellFormed();
      if (isPrimary) opened().add({ from: "turn", text });
    },
    onMemoryWrite(action, target, content, { old_text }) {
      if (isPrimary && old_text !== undefined) opened().remove({ from: target, text: old_text });
      if (isPrimary && action !== "remove") opened().add({ from: target, text: content });
    },
    forget(text, { dry_run = false }) {
      return { erased: text === "" ? 0 : opened().forget(text, dry_run) };
    },
    getToolSchemas: () => (mode === "context" ? [] : TOOLS),
    handleToolCall(name, { text }) {
      if (typeof text !== "string" || text.trim() === "") return '{"error":"text is missing"}';
      if (name === "notes_find") return JSON.stringify({ notes: opened().find(text) });
      opened().add({ from: "tool", text });
      return '{"status":"added"}';
    },
    shutdown() {
      notes = undefined; // later calls fail instead of writing
    },
    getConfigSchema: () => [{ key: "mode", choices: ["hybrid", "context", "tools"], default: "hybrid" }],
    saveConfig: (values, home) => writeFileSync(join(home, "notes.json"), JSON.stringify(values)),
    selfTest() {
      const note = { from: "self-test", text: `Written by a self test: ${crypto.randomUUID()}` };
      const startedAt = performance.now();
      try {
        opened().add(note);
        if (!opened().find(note.text).includes(note.text)) fail("A note was written, but not found again.");
      } finally {
        opened().remove(note);
      }
      return { steps: [{ name: "write, recall, clean up", ms: performance.now() - startedAt }] };
    },
  };
}

function fail(reason: string): never {
  throw new Error(reason);
}
