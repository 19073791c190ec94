// The `hermes curator` commands as data. Their bodies are loaded when they run.
import { type CommandSpec, command, flag } from "../command.ts";

const yes = flag.on("do it without asking", "y");
const skill = "the skill's name";
const run = "a run from 'hermes curator history'; without one, everything staged";

export const curatorCommands: readonly CommandSpec[] = [
  command("curator run", "find duplicates, outdated entries and unused skills, and stage proposals", {
    flags: {
      "dry-run": flag.on("only show it; nothing is written"),
      apply: flag.on("apply the proposals of the fixed rules instead of staging them; 'rollback' undoes it"),
      memory: flag.on("only memory"),
      skills: flag.on("only skills"),
      "no-model": flag.on("use fixed rules only"),
    },
    examples: ["hermes curator run --dry-run", "hermes curator run --apply --memory --no-model"],
    load: async () => (await import("./curator.ts")).run,
  }),
  command("curator approve [run]", "apply the staged proposals of a run", {
    args: { run },
    examples: ["hermes curator approve", "hermes curator approve 1f2e3d4c"],
    load: async () => (await import("../staged.ts")).approveProposals,
  }),
  command("curator reject [run]", "drop the staged proposals of a run", {
    args: { run },
    examples: ["hermes curator reject 1f2e3d4c"],
    load: async () => (await import("../staged.ts")).rejectProposals,
  }),
  command("curator rollback [id]", "undo a run, or restore the skills from a backup", {
    args: { id: "a run from 'history' or a backup; without one, the newest run" },
    flags: { list: flag.on("list the runs and backups that can be restored"), yes },
    examples: ["hermes curator rollback --list", "hermes curator rollback 1f2e3d4c --yes"],
    load: async () => (await import("./curator.ts")).rollback,
  }),
  command("curator history", "list past runs, newest first", {
    flags: { limit: flag.count("how many to list (20)") },
    examples: ["hermes curator history --limit 5"],
    load: async () => (await import("./curator.ts")).history,
  }),
  command("curator status", "show when it ran, when it runs next, and what waits for approval", {
    examples: ["hermes curator status --json"],
    load: async () => (await import("./curator.ts")).status,
  }),
  command("curator pause", "start no scheduled runs until 'resume'", {
    examples: ["hermes curator pause"],
    load: async () => (await import("./curator.ts")).pause,
  }),
  command("curator resume", "let scheduled runs start again", {
    examples: ["hermes curator resume"],
    load: async () => (await import("./curator.ts")).resume,
  }),
  command("curator pin <skill>", "keep a skill from ever being archived", {
    args: { skill },
    examples: ["hermes curator pin deploy"],
    load: async () => (await import("./curator.ts")).pin,
  }),
  command("curator unpin <skill>", "allow a skill to be archived again when it is unused", {
    args: { skill },
    examples: ["hermes curator unpin deploy"],
    load: async () => (await import("./curator.ts")).unpin,
  }),
  command("curator archive <skill>", "move a skill to the archive", {
    args: { skill },
    examples: ["hermes curator archive deploy"],
    load: async () => (await import("./curator.ts")).archive,
  }),
  command("curator restore <skill>", "bring a skill back from the archive", {
    args: { skill: "a name from 'hermes curator list-archived'" },
    examples: ["hermes curator restore deploy"],
    load: async () => (await import("./curator.ts")).restore,
  }),
  command("curator list-archived", "list the skills in the archive", {
    examples: ["hermes curator list-archived --json"],
    load: async () => (await import("./curator.ts")).listArchived,
  }),
];
