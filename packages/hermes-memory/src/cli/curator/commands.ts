// The `hermes curator` commands as data. Their bodies are loaded when they run.
import { type ArgumentSpec, type CommandSpec, flag } from "../command.ts";

const yes = flag.on("do it without asking", "y");
const skill: ArgumentSpec = { name: "skill", summary: "the skill's name" };
const run: ArgumentSpec = {
  name: "run",
  summary: "a run from 'hermes curator history'; without one, everything staged",
  isOptional: true,
};

export const curatorCommands: readonly CommandSpec[] = [
  {
    name: "curator run",
    summary: "find duplicates, outdated entries and unused skills, and stage proposals",
    flags: {
      "dry-run": flag.on("only show it; nothing is written"),
      apply: flag.on("apply the proposals of the fixed rules instead of staging them; 'rollback' undoes it"),
      memory: flag.on("only memory"),
      skills: flag.on("only skills"),
      "no-model": flag.on("use fixed rules only"),
    },
    examples: ["hermes curator run --dry-run", "hermes curator run --apply --memory --no-model"],
    load: async () => (await import("./curator.ts")).run,
  },
  {
    name: "curator approve",
    summary: "apply the staged proposals of a run",
    arguments: [run],
    examples: ["hermes curator approve", "hermes curator approve 1f2e3d4c"],
    load: async () => (await import("../staged.ts")).approveProposals,
  },
  {
    name: "curator reject",
    summary: "drop the staged proposals of a run",
    arguments: [run],
    examples: ["hermes curator reject 1f2e3d4c"],
    load: async () => (await import("../staged.ts")).rejectProposals,
  },
  {
    name: "curator rollback",
    summary: "undo a run, or restore the skills from a backup",
    arguments: [
      {
        name: "id",
        summary: "a run from 'history' or a backup; without one, the newest run",
        isOptional: true,
      },
    ],
    flags: { list: flag.on("list the runs and backups that can be restored"), yes },
    examples: ["hermes curator rollback --list", "hermes curator rollback 1f2e3d4c --yes"],
    load: async () => (await import("./curator.ts")).rollback,
  },
  {
    name: "curator history",
    summary: "list past runs, newest first",
    flags: { limit: flag.count("how many to list (20)") },
    examples: ["hermes curator history --limit 5"],
    load: async () => (await import("./curator.ts")).history,
  },
  {
    name: "curator status",
    summary: "show when it ran, when it runs next, and what waits for approval",
    examples: ["hermes curator status --json"],
    load: async () => (await import("./curator.ts")).status,
  },
  {
    name: "curator pause",
    summary: "start no scheduled runs until 'resume'",
    examples: ["hermes curator pause"],
    load: async () => (await import("./curator.ts")).pause,
  },
  {
    name: "curator resume",
    summary: "let scheduled runs start again",
    examples: ["hermes curator resume"],
    load: async () => (await import("./curator.ts")).resume,
  },
  {
    name: "curator pin",
    summary: "keep a skill from ever being archived",
    arguments: [skill],
    examples: ["hermes curator pin deploy"],
    load: async () => (await import("./curator.ts")).pin,
  },
  {
    name: "curator unpin",
    summary: "allow a skill to be archived again when it is unused",
    arguments: [skill],
    examples: ["hermes curator unpin deploy"],
    load: async () => (await import("./curator.ts")).unpin,
  },
  {
    name: "curator archive",
    summary: "move a skill to the archive",
    arguments: [skill],
    examples: ["hermes curator archive deploy"],
    load: async () => (await import("./curator.ts")).archive,
  },
  {
    name: "curator restore",
    summary: "bring a skill back from the archive",
    arguments: [{ name: "skill", summary: "a name from 'hermes curator list-archived'" }],
    examples: ["hermes curator restore deploy"],
    load: async () => (await import("./curator.ts")).restore,
  },
  {
    name: "curator list-archived",
    summary: "list the skills in the archive",
    examples: ["hermes curator list-archived --json"],
    load: async () => (await import("./curator.ts")).listArchived,
  },
];
