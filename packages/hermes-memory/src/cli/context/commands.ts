// The `hermes context` commands as data. Their bodies are loaded when they run.
import type { CommandSpec } from "../command.ts";

export const contextCommands: readonly CommandSpec[] = [
  {
    name: "context status",
    summary: "show engine, window, when compaction starts, summary model and prompt caching",
    examples: ["hermes context status", "hermes context status --json"],
    load: async () => (await import("./status-and-engines.ts")).status,
  },
  {
    name: "context engines",
    summary: "list the context engines; no plugin's code runs",
    examples: ["hermes context engines", "hermes context engines --json"],
    load: async () => (await import("./status-and-engines.ts")).engines,
  },
  {
    name: "context use",
    summary: "choose the engine for new sessions (writes context.engine; comments stay)",
    arguments: [{ name: "name", summary: "an engine from 'hermes context engines'" }],
    examples: ["hermes context use lcm", "hermes context use compressor --json"],
    load: async () => (await import("./status-and-engines.ts")).use,
  },
];
