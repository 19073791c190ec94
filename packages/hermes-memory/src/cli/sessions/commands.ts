// The `hermes sessions` commands as data. Their bodies are loaded when they run.
import { type CommandSpec, command, flag } from "../command.ts";

const id = "an id from 'hermes sessions list', or a unique beginning of one";

const source = flag.text("source", "only sessions from there: cli, telegram, cron, ...");
const yes = flag.on("do it without asking", "y");
const verbose = flag.on("show progress, even without a terminal");

export const sessionsCommands: readonly CommandSpec[] = [
  command("sessions list", "list conversations, newest first", {
    flags: {
      source,
      limit: flag.count("how many to list (20)"),
      all: flag.on("archived ones too"),
      archived: flag.on("archived ones only"),
      "by-activity": flag.on("order by the latest message instead of the start"),
    },
    examples: ["hermes sessions list", "hermes sessions list --source telegram --by-activity --json"],
    load: async () => (await import("./list.ts")).list,
  }),
  command("sessions browse", "choose a conversation by typing parts of it, and print how it begins", {
    flags: {
      source,
      limit: flag.count("how many to choose from (500)"),
    },
    examples: ["hermes sessions browse", "hermes sessions browse --source cli"],
    load: async () => (await import("./list.ts")).browse,
  }),
  command("sessions show <id>", "print a conversation", {
    args: { id },
    flags: {
      limit: flag.count("only this many messages from its beginning"),
      all: flag.on("rewound messages too"),
      full: flag.on("do not cut long tool output"),
    },
    examples: ["hermes sessions show 20260114_0930", "hermes sessions show 20260114_0930 --limit 10 --json"],
    load: async () => (await import("./show.ts")).show,
  }),
  command("sessions search <query...>", "find messages by words, phrases or a plain question", {
    args: { query: "words in any order; '\"a phrase\"', AND, OR, NOT and config* are taken at their word" },
    flags: {
      limit: flag.count("how many hits to show (10)"),
      source: { ...source, summary: `${source.summary}; several with commas` },
      role: flag.text("role", "only messages of these roles: user, assistant, tool; several with commas"),
      after: flag.text("time", "only messages after this time: 2026-01-31, 12h, 7d, yesterday"),
      before: flag.text("time", "only messages before this time"),
      session: flag.text("id", "only in this session; a unique beginning will do"),
      sort: flag.choice(["newest", "oldest"], "by time instead of by how well they match"),
      "per-session": flag.on("only the best hit of each conversation"),
      all: flag.on("runs of subagents, tools and task boards too"),
    },
    examples: [
      "hermes sessions search blue crane",
      "hermes sessions search '\"blue crane\" OR harbour*' --after 7d --role user",
      "hermes sessions search what did we decide about the crane --per-session --json",
    ],
    load: async () => (await import("./search-command.ts")).search,
  }),
  command("sessions export <out>", "write conversations as JSONL, one session per line", {
    args: { out: "the file to write, private to you; '-' writes to stdout" },
    flags: {
      source,
      "session-id": flag.text("id", "only this session; a unique beginning will do"),
      all: flag.on("rewound messages too"),
      force: flag.on("replace a file that exists"),
      verbose,
    },
    examples: [
      "hermes sessions export backup.jsonl",
      "hermes sessions export - --source cli | gzip > cli.jsonl.gz",
      "hermes sessions export one.jsonl --session-id 20260114_0930",
    ],
    load: async () => (await import("../export/export.ts")).exportSessions,
  }),
  command(
    "sessions import [file]",
    "import conversations of other agents (--from), or a file that 'export' wrote",
    {
      args: {
        file: "an export, or a transcript whose format is recognised; '-' reads an export from standard input",
      },
      flags: {
        from: flag.texts(
          "source",
          "claude-code, codex, openclaw, opencode, gemini, pi, cursor, chatgpt, claude-ai, ...; several with commas; 'auto' looks for all",
        ),
        path: flag.texts("path", "look in this folder or file instead of the product's own places"),
        since: flag.text("time", "only sessions that ended after: 2026-01-31, 7d, yesterday"),
        until: flag.text("time", "only sessions that began before this time"),
        project: flag.texts(
          "glob",
          "only sessions in this folder: its name at any depth, or a path; * stands for any letters",
        ),
        "exclude-project": flag.texts("glob", "leave out sessions in this folder"),
        limit: flag.count("stop after this many new or changed sessions"),
        tools: flag.choice(
          ["full", "brief", "none"],
          "how much of tool calls to keep; brief cuts arguments at 2000 and results at 4000 characters (brief)",
          "level",
        ),
        redact: flag.choice(["tools", "all", "none"], "where credentials are masked (tools)", "where"),
        "include-reasoning": flag.on("keep the thinking of models"),
        "include-system": flag.on("keep system messages"),
        "include-memory-disabled": flag.on("Codex: threads with memory turned off there, too"),
        "no-subagents": flag.on("leave out what subagents said"),
        "no-branches": flag.on("leave out branches that were abandoned"),
        experimental: flag.on("with --from auto: formats that are known less well, too"),
        me: flag.text("name", "messengers: your own name or id there"),
        assistant: flag.text("name", "messengers: the bot that counts as the assistant"),
        chat: flag.text("name", "messengers: only this chat"),
        "dry-run": flag.on("read everything, report, write nothing"),
        watch: flag.on("go on and import new messages as they are written, until Ctrl-C"),
        force: flag.on("read unchanged files again, and bring back sessions deleted here"),
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
  ),
  command("sessions rename <id> <title...>", "give a session a title", {
    args: { id, title: "the words of the title" },
    examples: ["hermes sessions rename 20260114_0930 Harbour crane"],
    load: async () => (await import("./change-sessions.ts")).rename,
  }),
  command("sessions archive <id>", "hide a conversation from the lists; nothing is deleted", {
    args: { id },
    flags: { undo: flag.on("bring it back into the lists") },
    examples: ["hermes sessions archive 20260114_0930", "hermes sessions archive 20260114_0930 --undo"],
    load: async () => (await import("./change-sessions.ts")).archive,
  }),
  command("sessions delete <id...>", "delete sessions with their messages and delegate runs, for good", {
    args: { id: id },
    flags: { yes },
    examples: [
      "hermes sessions delete 20260114_0930",
      "hermes sessions delete 20260114_0930 cron_backup_2026 --yes",
    ],
    load: async () => (await import("./change-sessions.ts")).remove,
  }),
  command("sessions prune", "delete sessions that ended and are old, for good", {
    flags: {
      "older-than": {
        kind: "integer",
        placeholder: "days",
        summary: "minimum age in days: of a session since its start (90), of a file since it was written (0)",
      },
      source,
      orphans: flag.on("instead, delete files of sessions that are gone: kept tool results, JSON snapshots"),
      yes,
      "dry-run": flag.on("only list what would go"),
    },
    examples: [
      "hermes sessions prune --dry-run",
      "hermes sessions prune --orphans",
      "hermes sessions prune --older-than 30 --source cron --yes",
    ],
    load: async () => (await import("./change-sessions.ts")).prune,
  }),
  command("sessions optimize", "finish and merge the search index, and give free space back", {
    flags: {
      "no-vacuum": flag.on("leave free space in the file"),
      verbose,
    },
    examples: ["hermes sessions optimize", "hermes sessions optimize --no-vacuum --verbose"],
    load: async () => (await import("./database-file.ts")).optimize,
  }),
  command("sessions repair", "repair a damaged database file, keeping a copy of it", {
    flags: {
      "check-only": flag.on("only look for problems; exit code 1 when there are any"),
      "no-backup": flag.on("keep no copy, unless rows are lost"),
      alone: flag.on("every other program that uses the file is closed; needed where the system cannot tell"),
      "hide-orphans": flag.on("also hide short untitled sessions that look like runs of subagents"),
    },
    examples: ["hermes sessions repair --check-only", "hermes sessions repair"],
    load: async () => (await import("./database-file.ts")).repair,
  }),
  command("sessions stats", "count sessions and messages, and show the size of the database", {
    examples: ["hermes sessions stats", "hermes sessions stats --json"],
    load: async () => (await import("./database-file.ts")).stats,
  }),
  command("sessions path", "print where the database is", {
    examples: ["hermes sessions path", 'ls -l "$(hermes sessions path)"'],
    load: async () => (await import("./database-file.ts")).path,
  }),
];
