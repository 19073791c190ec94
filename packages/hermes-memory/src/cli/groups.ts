// The command groups. A group's commands are loaded when it is asked for; until then it is a line in the help.
import type { Group } from "./command.ts";

export const GROUPS: readonly Group[] = [
  {
    name: "chat",
    summary: "talk to a model that remembers; a question with -q, a conversation without",
    isCommand: true,
    load: async () => (await import("./chat/commands.ts")).chatCommands,
  },
  {
    name: "setup",
    summary: "choose a model, save its key, and try it",
    isCommand: true,
    load: async () => (await import("./setup/command.ts")).setupCommands,
  },
  {
    name: "model",
    summary: "show, list, choose and test the model conversations use",
    isCommand: true,
    load: async () => (await import("./model/commands.ts")).modelCommands,
  },
  {
    name: "demo",
    summary: "show what each layer does, offline, with a scripted model",
    isCommand: true,
    load: async () => (await import("./demo.ts")).demoCommands,
  },
  {
    name: "memory",
    summary: "show, edit, explain and undo what an agent remembers",
    subgroups: { "memory archive": "find and bring back entries that made room for newer ones" },
    load: async () => (await import("./memory/commands.ts")).memoryCommands,
  },
  {
    name: "skills",
    summary: "list, read, write, switch off and undo the skills of an agent",
    load: async () => (await import("./skills/commands.ts")).skillsCommands,
  },
  {
    name: "curator",
    summary: "tidy memory and skills: find duplicates, merge, archive, and take it back",
    load: async () => (await import("./curator/commands.ts")).curatorCommands,
  },
  {
    name: "sessions",
    summary: "list, read, export, tidy and repair stored conversations",
    load: async () => (await import("./sessions/commands.ts")).sessionsCommands,
  },
  {
    name: "context",
    summary: "show and choose what keeps long conversations within the model's window",
    load: async () => (await import("./context/commands.ts")).contextCommands,
  },
  {
    name: "prompt-size",
    summary: "show how large the system prompt is, part by part, and what was left out of it",
    isCommand: true,
    load: async () => (await import("./prompt-size.ts")).promptSizeCommands,
  },
  {
    name: "mcp",
    summary: "serve memory and past sessions to Claude Code, Codex, Cursor and other MCP clients",
    isCommand: true,
    load: async () => (await import("./mcp/commands.ts")).mcpCommands,
  },
  {
    name: "profile",
    summary: "keep several homes side by side and switch between them",
    load: async () => (await import("./profile.ts")).profileCommands,
  },
  {
    name: "config",
    summary: "read, change and check config.yaml",
    load: async () => (await import("./config.ts")).configCommands,
  },
  {
    name: "status",
    summary: "show home, profile, memory usage and the last change",
    isCommand: true,
    load: async () => (await import("./status.ts")).statusCommands,
  },
  {
    name: "doctor",
    summary: "check runtime, home, settings and memory files",
    isCommand: true,
    load: async () => (await import("./doctor/command.ts")).doctorCommands,
  },
  {
    name: "completion",
    summary: "print a completion script for bash, zsh or fish",
    isCommand: true,
    load: async () => (await import("./completion/command.ts")).completionCommands,
  },
];
