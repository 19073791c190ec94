// The `hermes skills` commands as data. Their bodies are loaded when they run.
import { type CommandSpec, command, flag } from "../command.ts";

const name = "a skill's name, or category/name";
const pendingId = "an id from 'hermes skills pending', or 'all'";
const platform = flag.text("platform", "only on this platform, such as telegram");

const allowSecret = flag.on("write it although it holds something like a credential");

export const skillsCommands: readonly CommandSpec[] = [
  command("skills list", "list the skills an agent sees, by category", {
    flags: {
      category: flag.text("name", "only this category"),
      all: flag.on("also those switched off or made for other systems"),
    },
    examples: ["hermes skills list", "hermes skills list --all --json"],
    load: async () => (await import("./manage-skills.ts")).list,
  }),
  command("skills view <name> [file]", "print a skill as an agent reads it, or one of its files", {
    args: { name, file: "such as references/api.md" },
    examples: ["hermes skills view deploy", "hermes skills view deploy references/hosts.md"],
    load: async () => (await import("./manage-skills.ts")).view,
  }),
  command(
    "skills new <name>",
    "create a skill: a frame to fill in, or a whole SKILL.md from standard input",
    {
      args: { name: "lower-case letters, digits, '.', '_' and '-'" },
      flags: {
        category: flag.text("name", "the folder to put it in"),
        description: flag.text("text", "what it is for and when to use it"),
        stdin: flag.on("read the whole SKILL.md from standard input"),
        "allow-secret": allowSecret,
      },
      examples: [
        "hermes skills new deploy --description 'Ship the web app; use it before every release'",
        "hermes skills new deploy --category devops --stdin < SKILL.md",
      ],
      load: async () => (await import("./manage-skills.ts")).create,
    },
  ),
  command("skills disable <name>", "hide a skill from agents (writes skills.disabled; comments stay)", {
    args: { name },
    flags: { platform },
    examples: ["hermes skills disable deploy", "hermes skills disable deploy --platform telegram"],
    load: async () => (await import("./manage-skills.ts")).disable,
  }),
  command("skills enable <name>", "show a skill to agents again", {
    args: { name },
    flags: { platform },
    examples: ["hermes skills enable deploy"],
    load: async () => (await import("./manage-skills.ts")).enable,
  }),
  command("skills history", "list what changed, when and by whom, newest first", {
    flags: { limit: flag.count("how many changes to list (20)") },
    examples: ["hermes skills history", "hermes skills history --limit 5 --json"],
    load: async () => (await import("./manage-skills.ts")).history,
  }),
  command("skills undo [id]", "undo a change: the newest, or the one with this id", {
    args: { id: "an id from 'hermes skills history'" },
    examples: ["hermes skills undo", "hermes skills undo 1a2b3c4d"],
    load: async () => (await import("./manage-skills.ts")).undo,
  }),
  command("skills pending", "list the changes that wait for approval", {
    flags: { diff: flag.on("also print what each of them would change") },
    examples: ["hermes skills pending", "hermes skills pending --diff"],
    load: async () => (await import("../staged.ts")).pendingSkills,
  }),
  command("skills approve <id>", "apply a staged change, or all of them", {
    args: { id: pendingId },
    flags: { "allow-secret": allowSecret },
    examples: ["hermes skills approve 1a2b3c4d", "hermes skills approve all"],
    load: async () => (await import("../staged.ts")).approveSkills,
  }),
  command("skills reject <id>", "drop a staged change, or all of them", {
    args: { id: pendingId },
    examples: ["hermes skills reject 1a2b3c4d", "hermes skills reject all"],
    load: async () => (await import("../staged.ts")).rejectSkills,
  }),
  command("skills path [name]", "print the skills directory, or the directory of a skill", {
    args: { name: name },
    examples: ["hermes skills path", 'cd "$(hermes skills path deploy)"'],
    load: async () => (await import("./manage-skills.ts")).path,
  }),
];
