// The `hermes claw` commands as data. Their bodies are loaded when they run.
import type { CommandSpec, FlagSpec } from "../command.ts";

const yes: FlagSpec = { kind: "boolean", short: "y", summary: "do it without asking" };
const source: FlagSpec = {
  kind: "text",
  placeholder: "folder",
  summary: "the OpenClaw folder (found by itself: ~/.openclaw, or an older name)",
};

const cleanupFlags: Readonly<Record<string, FlagSpec>> = {
  source,
  "dry-run": { kind: "boolean", summary: "only show what would be renamed" },
  force: { kind: "boolean", summary: "also rename a folder that was not migrated" },
  yes,
};

export const clawCommands: readonly CommandSpec[] = [
  {
    name: "claw migrate",
    summary: "show what an OpenClaw folder holds and, after a yes, bring it into this home",
    flags: {
      source,
      "dry-run": { kind: "boolean", summary: "stop after the preview; nothing is written" },
      preset: {
        kind: "text",
        choices: ["user-data", "full"],
        summary: "what to migrate: everything (full), or everything but keys",
      },
      include: {
        kind: "text",
        placeholder: "ids",
        isRepeatable: true,
        summary: "only these options, separated by commas (ignored with --preset)",
      },
      exclude: { kind: "text", placeholder: "ids", isRepeatable: true, summary: "leave these options out" },
      overwrite: {
        kind: "boolean",
        summary: "replace what conflicts; the old files are kept in the run's backups",
      },
      "on-conflict": {
        kind: "text",
        choices: ["skip", "refuse"],
        summary: "leave what conflicts alone (skip), or do nothing at all (refuse)",
      },
      "skill-conflict": {
        kind: "text",
        choices: ["skip", "overwrite", "rename"],
        summary: "what to do with a skill whose name is taken (skip)",
      },
      "migrate-secrets": {
        kind: "boolean",
        summary: "import API keys and tokens into .env; off under every preset",
      },
      "workspace-target": {
        kind: "text",
        placeholder: "folder",
        summary: "the folder that receives AGENTS.md",
      },
      agent: { kind: "text", placeholder: "id", summary: "take the workspace of this agent" },
      parser: {
        kind: "text",
        choices: ["compat", "smart"],
        summary:
          "how notes become entries: as Hermes does (compat), or with nesting, code and tables (smart)",
      },
      "no-rebrand": { kind: "boolean", summary: "keep the name OpenClaw in entries, SOUL.md and AGENTS.md" },
      "output-dir": { kind: "text", placeholder: "folder", summary: "where report, archive and backups go" },
      "no-backup": { kind: "boolean", summary: "make no snapshot of the home before" },
      yes,
    },
    examples: [
      "hermes claw migrate --dry-run",
      "hermes claw migrate",
      "hermes claw migrate --preset full --migrate-secrets --overwrite --yes",
      "hermes claw migrate --include memory,user-profile,daily-memory",
    ],
    load: async () => (await import("./migrate.ts")).migrate,
  },
  {
    name: "claw cleanup",
    summary: "rename the OpenClaw folder after a migration; nothing is deleted",
    flags: cleanupFlags,
    examples: ["hermes claw cleanup --dry-run", "hermes claw cleanup --yes"],
    load: async () => (await import("./cleanup.ts")).cleanup,
  },
  {
    name: "claw clean",
    summary: "the same as cleanup",
    flags: cleanupFlags,
    examples: ["hermes claw clean --dry-run"],
    isHidden: true,
    load: async () => (await import("./cleanup.ts")).cleanup,
  },
];
