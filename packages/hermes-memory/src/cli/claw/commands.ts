// The `hermes claw` commands as data. Their bodies are loaded when they run.
import { type CommandSpec, command, flag } from "../command.ts";

const yes = flag.on("do it without asking", "y");
const source = flag.text("folder", "the OpenClaw folder (found by itself: ~/.openclaw, or an older name)");

const cleanupFlags = {
  source,
  "dry-run": flag.on("only show what would be renamed"),
  force: flag.on("also rename a folder that was not migrated"),
  yes,
};

export const clawCommands: readonly CommandSpec[] = [
  command("claw migrate", "show what an OpenClaw folder holds and, after a yes, bring it into this home", {
    flags: {
      source,
      "dry-run": flag.on("stop after the preview; nothing is written"),
      preset: flag.choice(
        ["user-data", "full"],
        "what to migrate: everything (full), or everything but keys",
      ),
      include: flag.texts("ids", "only these options, separated by commas (ignored with --preset)"),
      exclude: flag.texts("ids", "leave these options out"),
      overwrite: flag.on("replace what conflicts; the old files are kept in the run's backups"),
      "on-conflict": flag.choice(
        ["skip", "refuse"],
        "leave what conflicts alone (skip), or do nothing at all (refuse)",
      ),
      "skill-conflict": flag.choice(
        ["skip", "overwrite", "rename"],
        "what to do with a skill whose name is taken (skip)",
      ),
      "migrate-secrets": flag.on("import API keys and tokens into .env; off under every preset"),
      "workspace-target": flag.text("folder", "the folder that receives AGENTS.md"),
      agent: flag.text("id", "take the workspace of this agent"),
      parser: flag.choice(
        ["compat", "smart"],
        "how notes become entries: as Hermes does (compat), or with nesting, code and tables (smart)",
      ),
      "no-rebrand": flag.on("keep the name OpenClaw in entries, SOUL.md and AGENTS.md"),
      "output-dir": flag.text("folder", "where report, archive and backups go"),
      "no-backup": flag.on("make no snapshot of the home before"),
      yes,
    },
    examples: [
      "hermes claw migrate --dry-run",
      "hermes claw migrate",
      "hermes claw migrate --preset full --migrate-secrets --overwrite --yes",
      "hermes claw migrate --include memory,user-profile,daily-memory",
    ],
    load: async () => (await import("./migrate.ts")).migrate,
  }),
  command("claw cleanup", "rename the OpenClaw folder after a migration; nothing is deleted", {
    flags: cleanupFlags,
    examples: ["hermes claw cleanup --dry-run", "hermes claw cleanup --yes"],
    load: async () => (await import("./cleanup.ts")).cleanup,
  }),
  command("claw clean", "the same as cleanup", {
    flags: cleanupFlags,
    examples: ["hermes claw clean --dry-run"],
    isHidden: true,
    load: async () => (await import("./cleanup.ts")).cleanup,
  }),
];
