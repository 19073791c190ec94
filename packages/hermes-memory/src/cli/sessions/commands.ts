// The `hermes sessions` commands as data. Their bodies are loaded when they run.
import type { ArgumentSpec, CommandSpec, FlagSpec } from "../command.ts";

const id: ArgumentSpec = {
  name: "id",
  summary: "an id from 'hermes sessions list', or a unique beginning of one",
};

const source: FlagSpec = {
  kind: "text",
  placeholder: "source",
  summary: "only sessions from there: cli, telegram, cron, ...",
};
const yes: FlagSpec = { kind: "boolean", short: "y", summary: "do it without asking" };
const verbose: FlagSpec = { kind: "boolean", summary: "show progress, even without a terminal" };

export const sessionsCommands: readonly CommandSpec[] = [
  {
    name: "sessions list",
    summary: "list conversations, newest first",
    flags: {
      source,
      limit: { kind: "integer", minimum: 1, summary: "how many to list (20)" },
      all: { kind: "boolean", summary: "archived ones too" },
      archived: { kind: "boolean", summary: "archived ones only" },
      "by-activity": { kind: "boolean", summary: "order by the latest message instead of the start" },
    },
    examples: ["hermes sessions list", "hermes sessions list --source telegram --by-activity --json"],
    load: async () => (await import("./list.ts")).list,
  },
  {
    name: "sessions browse",
    summary: "choose a conversation by typing parts of it, and print how it begins",
    flags: {
      source,
      limit: { kind: "integer", minimum: 1, summary: "how many to choose from (500)" },
    },
    examples: [
      "hermes sessions browse",
      "hermes sessions browse --source cli",
      "echo 1 | hermes sessions browse",
    ],
    load: async () => (await import("./list.ts")).browse,
  },
  {
    name: "sessions show",
    summary: "print a conversation",
    arguments: [id],
    flags: {
      limit: { kind: "integer", minimum: 1, summary: "only this many messages from its beginning" },
      all: { kind: "boolean", summary: "rewound messages too" },
      full: { kind: "boolean", summary: "do not cut long tool output" },
    },
    examples: ["hermes sessions show 20260114_0930", "hermes sessions show 20260114_0930 --limit 10 --json"],
    load: async () => (await import("./show.ts")).show,
  },
  {
    name: "sessions search",
    summary: "find messages by words, phrases or a plain question",
    arguments: [
      {
        name: "query",
        summary: "words in any order; '\"a phrase\"', AND, OR, NOT and config* are taken at their word",
        isVariadic: true,
      },
    ],
    flags: {
      limit: { kind: "integer", minimum: 1, summary: "how many hits to show (10)" },
      source: { ...source, summary: `${source.summary}; several with commas` },
      role: {
        kind: "text",
        placeholder: "role",
        summary: "only messages of these roles: user, assistant, tool; several with commas",
      },
      after: {
        kind: "text",
        placeholder: "time",
        summary: "only messages after this time: 2026-01-31, 12h, 7d, yesterday",
      },
      before: { kind: "text", placeholder: "time", summary: "only messages before this time" },
      session: {
        kind: "text",
        placeholder: "id",
        summary: "only in this session; a unique beginning will do",
      },
      sort: {
        kind: "text",
        choices: ["newest", "oldest"],
        summary: "by time instead of by how well they match",
      },
      "per-session": { kind: "boolean", summary: "only the best hit of each conversation" },
      all: { kind: "boolean", summary: "runs of subagents, tools and task boards too" },
    },
    examples: [
      "hermes sessions search blue crane",
      "hermes sessions search '\"blue crane\" OR harbour*' --after 7d --role user",
      "hermes sessions search what did we decide about the crane --per-session --json",
    ],
    load: async () => (await import("./search-command.ts")).search,
  },
  {
    name: "sessions export",
    summary: "write conversations as JSONL, one session per line",
    arguments: [{ name: "out", summary: "the file to write, private to you; '-' writes to stdout" }],
    flags: {
      source,
      "session-id": {
        kind: "text",
        placeholder: "id",
        summary: "only this session; a unique beginning will do",
      },
      all: { kind: "boolean", summary: "rewound messages too" },
      force: { kind: "boolean", summary: "replace a file that exists" },
      verbose,
    },
    examples: [
      "hermes sessions export backup.jsonl",
      "hermes sessions export - --source cli | gzip > cli.jsonl.gz",
      "hermes sessions export one.jsonl --session-id 20260114_0930",
    ],
    load: async () => (await import("../export/export.ts")).exportSessions,
  },
  {
    name: "sessions import",
    summary: "import conversations of other agents (--from), or a file that 'export' wrote",
    arguments: [
      {
        name: "file",
        summary:
          "an export, or a transcript whose format is recognised; '-' reads an export from standard input",
        isOptional: true,
      },
    ],
    flags: {
      from: {
        kind: "text",
        placeholder: "source",
        isRepeatable: true,
        summary:
          "claude-code, codex, openclaw, opencode, gemini, pi, cursor, chatgpt, claude-ai, ...; several with commas; 'auto' looks for all",
      },
      path: {
        kind: "text",
        placeholder: "path",
        isRepeatable: true,
        summary: "look in this folder or file instead of the product's own places",
      },
      since: {
        kind: "text",
        placeholder: "time",
        summary: "only sessions that ended after: 2026-01-31, 7d, yesterday",
      },
      until: { kind: "text", placeholder: "time", summary: "only sessions that began before this time" },
      project: {
        kind: "text",
        placeholder: "glob",
        isRepeatable: true,
        summary: "only sessions in this folder: its name at any depth, or a path; * stands for any letters",
      },
      "exclude-project": {
        kind: "text",
        placeholder: "glob",
        isRepeatable: true,
        summary: "leave out sessions in this folder",
      },
      limit: { kind: "integer", minimum: 1, summary: "stop after this many new or changed sessions" },
      tools: {
        kind: "text",
        choices: ["full", "brief", "none"],
        placeholder: "level",
        summary:
          "how much of tool calls to keep; brief cuts arguments at 2000 and results at 4000 characters (brief)",
      },
      redact: {
        kind: "text",
        choices: ["tools", "all", "none"],
        placeholder: "where",
        summary: "where credentials are masked (tools)",
      },
      "include-reasoning": { kind: "boolean", summary: "keep the thinking of models" },
      "include-system": { kind: "boolean", summary: "keep system messages" },
      "include-memory-disabled": {
        kind: "boolean",
        summary: "Codex: threads with memory turned off there, too",
      },
      "no-subagents": { kind: "boolean", summary: "leave out what subagents said" },
      "no-branches": { kind: "boolean", summary: "leave out branches that were abandoned" },
      experimental: { kind: "boolean", summary: "with --from auto: formats that are known less well, too" },
      me: { kind: "text", placeholder: "name", summary: "messengers: your own name or id there" },
      assistant: {
        kind: "text",
        placeholder: "name",
        summary: "messengers: the bot that counts as the assistant",
      },
      chat: { kind: "text", placeholder: "name", summary: "messengers: only this chat" },
      "dry-run": { kind: "boolean", summary: "read everything, report, write nothing" },
      watch: { kind: "boolean", summary: "go on and import new messages as they are written, until Ctrl-C" },
      force: { kind: "boolean", summary: "read unchanged files again, and bring back sessions deleted here" },
      yes,
      verbose,
    },
    examples: [
      "hermes sessions import --from auto",
      "hermes sessions import --from claude-code,codex --since 30d --dry-run",
      "hermes sessions import --from chatgpt --path ~/Downloads/export.zip",
      "hermes sessions import --from hermes --path ~/.hermes/profiles/work",
      "hermes sessions import --from claude-code --watch",
      "hermes sessions import backup.jsonl",
    ],
    load: async () => (await import("./import.ts")).importSessions,
  },
  {
    name: "sessions rename",
    summary: "give a session a title",
    arguments: [id, { name: "title", summary: "the words of the title", isVariadic: true }],
    examples: ["hermes sessions rename 20260114_0930 Harbour crane"],
    load: async () => (await import("./change-sessions.ts")).rename,
  },
  {
    name: "sessions archive",
    summary: "hide a conversation from the lists; nothing is deleted",
    arguments: [id],
    flags: { undo: { kind: "boolean", summary: "bring it back into the lists" } },
    examples: ["hermes sessions archive 20260114_0930", "hermes sessions archive 20260114_0930 --undo"],
    load: async () => (await import("./change-sessions.ts")).archive,
  },
  {
    name: "sessions delete",
    summary: "delete sessions with their messages and delegate runs, for good",
    arguments: [{ ...id, isVariadic: true }],
    flags: { yes },
    examples: [
      "hermes sessions delete 20260114_0930",
      "hermes sessions delete 20260114_0930 cron_backup_2026 --yes",
    ],
    load: async () => (await import("./change-sessions.ts")).remove,
  },
  {
    name: "sessions prune",
    summary: "delete sessions that ended and are old, for good",
    flags: {
      "older-than": {
        kind: "integer",
        placeholder: "days",
        summary: "minimum age in days: of a session since its start (90), of a file since it was written (0)",
      },
      source,
      orphans: {
        kind: "boolean",
        summary: "instead, delete files of sessions that are gone: kept tool results, JSON snapshots",
      },
      yes,
      "dry-run": { kind: "boolean", summary: "only list what would go" },
    },
    examples: [
      "hermes sessions prune --dry-run",
      "hermes sessions prune --orphans",
      "hermes sessions prune --older-than 30 --source cron --yes",
    ],
    load: async () => (await import("./change-sessions.ts")).prune,
  },
  {
    name: "sessions optimize",
    summary: "finish and merge the search index, and give free space back",
    flags: {
      "no-vacuum": { kind: "boolean", summary: "leave free space in the file" },
      verbose,
    },
    examples: ["hermes sessions optimize", "hermes sessions optimize --no-vacuum --verbose"],
    load: async () => (await import("./database-file.ts")).optimize,
  },
  {
    name: "sessions repair",
    summary: "repair a damaged database file, keeping a copy of it",
    flags: {
      "check-only": { kind: "boolean", summary: "only look for problems; exit code 1 when there are any" },
      "no-backup": { kind: "boolean", summary: "keep no copy, unless rows are lost" },
      alone: {
        kind: "boolean",
        summary: "every other program that uses the file is closed; needed where the system cannot tell",
      },
      "hide-orphans": {
        kind: "boolean",
        summary: "also hide short untitled sessions that look like runs of subagents",
      },
    },
    examples: ["hermes sessions repair --check-only", "hermes sessions repair"],
    load: async () => (await import("./database-file.ts")).repair,
  },
  {
    name: "sessions stats",
    summary: "count sessions and messages, and show the size of the database",
    examples: ["hermes sessions stats", "hermes sessions stats --json"],
    load: async () => (await import("./database-file.ts")).stats,
  },
  {
    name: "sessions path",
    summary: "print where the database is",
    examples: ["hermes sessions path", 'ls -l "$(hermes sessions path)"'],
    load: async () => (await import("./database-file.ts")).path,
  },
];
