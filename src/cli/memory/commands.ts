// The `hermes memory` commands as data. Bodies are loaded when they run.
import type { CommandSpec, FlagSpec } from "../command.ts";

const target: FlagSpec = {
  kind: "text",
  short: "t",
  placeholder: "target",
  summary: "'memory' (the agent's notes) or 'user' (the user's profile)",
  choices: ["memory", "user"],
};

const dir: FlagSpec = {
  kind: "text",
  placeholder: "path",
  summary: "work on this memory directory instead of the home's",
};

export const memoryCommands: readonly CommandSpec[] = [
  {
    name: "memory show",
    summary: "print what is remembered",
    flags: {
      target,
      dir,
      prompt: { kind: "boolean", summary: "print the exact blocks a system prompt gets" },
    },
    examples: ["hermes memory show", "hermes memory show --target user --json"],
    load: async () => (await import("./entries.ts")).show,
  },
  {
    name: "memory add",
    summary: "remember a text ('-' reads it from standard input)",
    arguments: [{ name: "text", summary: "the new entry" }],
    flags: { target, dir, reason: { kind: "text", summary: "why; kept in the history" } },
    examples: [
      "hermes memory add 'Deploys go through make ship'",
      "hermes memory add --target user 'Prefers metric units'",
    ],
    load: async () => (await import("./entries.ts")).add,
  },
];
