// Specs of the `hermes memory` commands. Each body is loaded when its command runs.
import { type CommandSpec, command, type FlagSpec, flag } from "../command.ts";

const entryFlags: Readonly<Record<string, FlagSpec>> = {
  entry: flag.count("the entry with this number in 'hermes memory show' of the same target"),
  id: flag.text("id", "the entry with this id, from 'hermes memory show --ids'"),
  text: flag.text("text", "the entry with this text, also when the text is a number"),
};

const target: FlagSpec = {
  ...flag.choice(["memory", "user"], "'memory' (the agent's notes) or 'user' (the user's profile)"),
  ...{ short: "t", placeholder: "target" },
};

const dir = flag.text("path", "work on this memory directory instead of the home's");

const reason = flag.text("text", "why; saved in the history");
const yes = flag.on("do it without asking", "y");
const full = flag.on("print whole texts");
const allowSecret = flag.on("store it although it looks like a credential");

const oldText = "a part of the entry that no other entry has, or its id";
const pendingId = "an id from 'hermes memory pending', or 'all'";

const deadIds = "ids of dead letters from 'hermes memory outbox list'; without one, all of them";
const ofProvider = flag.text("name", "only those of this provider");

const remove = command("memory remove [old_text]", "remove an entry; 'undo' brings it back", {
  args: { old_text: oldText },
  flags: { ...entryFlags, target, dir, reason },
  examples: [
    "hermes memory remove 'make ship' --reason 'moved to the new pipeline'",
    "hermes memory remove --entry 2 --target user",
    "hermes memory remove --id 1a2b3c4d",
  ],
  load: async () => (await import("./entries.ts")).remove,
});

export const memoryCommands: readonly CommandSpec[] = [
  command("memory show", "print what is remembered", {
    flags: {
      target,
      dir,
      ids: flag.on("print the id of each entry"),
      prompt: flag.on("print the blocks a system prompt gets (--json: to the byte)"),
    },
    examples: ["hermes memory show", "hermes memory show --target user --json"],
    load: async () => (await import("./entries.ts")).show,
  }),
  command("memory add <text>", "remember a text ('-' reads it from standard input)", {
    args: { text: "the new entry" },
    flags: { target, dir, reason, "allow-secret": allowSecret },
    examples: [
      "hermes memory add 'Deploys go through make ship'",
      "hermes memory add --target user 'Prefers metric units'",
      "hermes memory add -- '- a text that starts with a dash'",
    ],
    load: async () => (await import("./entries.ts")).add,
  }),
  command(
    "memory replace [old_text] [text]",
    "replace the text of an entry ('-' reads it from standard input)",
    {
      args: { old_text: oldText, text: "the new text of the entry" },
      flags: { ...entryFlags, target, dir, reason, "allow-secret": allowSecret },
      examples: [
        "hermes memory replace 'make ship' 'Deploys go through make release'",
        "hermes memory replace --entry 2 'Deploys go through make release'",
      ],
      load: async () => (await import("./entries.ts")).replace,
    },
  ),
  remove,
  command("memory import [file...]", "turn notes of other agents into entries, after a preview", {
    args: {
      file: "CLAUDE.md, AGENTS.md, GEMINI.md, MEMORY.md, USER.md, a Letta or mem0 export, a claude-mem database",
    },
    flags: {
      from: {
        ...flag.choice(
          ["hermes", "claude-md", "agents-md", "gemini-md", "claude-mem", "letta", "mem0", "markdown"],
          "read it as this",
        ),
        placeholder: "format",
      },
      target: {
        ...target,
        choices: ["memory", "user", "auto"],
        summary: "'memory' or 'user' for all entries, or 'auto' (default): as the file says, else memory",
      },
      dir,
      limit: flag.count("add at most this many entries"),
      overflow: flag.text("file", "write entries without room to this file, which can be imported later"),
      again: flag.on("also entries that were imported before and removed since"),
      experimental: flag.on("allow formats that are known from few samples (mem0)"),
      "allow-secret": allowSecret,
      "dry-run": flag.on("show what would be added, and write nothing"),
      yes,
    },
    examples: [
      "hermes memory import ~/.claude/CLAUDE.md",
      "hermes memory import AGENTS.md --dry-run",
      "hermes memory import --from claude-mem --limit 20",
      "hermes memory import other-home/memories/USER.md --overflow no-room.md --yes",
    ],
    load: async () => (await import("./import-notes.ts")).importNotes,
  }),
  // Names that users try. Without them, the suggestion by spelling would be `reset`, which deletes everything.
  ...["memory delete", "memory rm"].map((name) => ({ ...remove, name, isHidden: true })),
  command("memory history", "list what changed, when and by whom, newest first", {
    flags: {
      target,
      dir,
      limit: flag.count("how many changes to list (20)"),
      full,
    },
    examples: ["hermes memory history", "hermes memory history --target user --limit 5 --full"],
    load: async () => (await import("./history.ts")).history,
  }),
  command("memory undo [id]", "undo a change: the newest, or the one with this id", {
    args: { id: "an id from 'hermes memory history'" },
    flags: { target, dir, full },
    examples: ["hermes memory undo", "hermes memory undo 1a2b3c4d"],
    load: async () => (await import("./history.ts")).undo,
  }),
  command(
    "memory explain [text]",
    "say whether a text is stored, blocked, archived, waiting, removed or refused, by whom and since when",
    {
      args: { text: "an entry, a part of one, or its id ('-' reads standard input)" },
      flags: {
        ...entryFlags,
        target: { ...target, summary: "the target that --entry counts in (memory)" },
        dir,
      },
      examples: ["hermes memory explain 'make ship'"],
      load: async () => (await import("./history.ts")).explain,
    },
  ),
  command("memory pin [text]", "keep an entry from ever being archived", {
    args: { text: oldText },
    flags: { ...entryFlags, target, dir },
    examples: ["hermes memory pin 'metric units' --target user", "hermes memory pin --entry 2"],
    load: async () => (await import("./entries.ts")).pin,
  }),
  command("memory unpin [text]", "let a pinned entry be archived again", {
    args: { text: oldText },
    flags: { ...entryFlags, target, dir },
    examples: ["hermes memory unpin 'metric units' --target user"],
    load: async () => (await import("./entries.ts")).unpin,
  }),
  command("memory archive list", "list the entries that were archived to make room", {
    flags: { target, dir, full },
    examples: ["hermes memory archive list", "hermes memory archive list --target user --full"],
    load: async () => (await import("./entries.ts")).list,
  }),
  command("memory archive search <words>", "find archived entries that contain all of these words", {
    args: { words: "in quotes when there are several; letter case does not matter" },
    flags: { target, dir, full },
    examples: ["hermes memory archive search 'harbour crane'"],
    load: async () => (await import("./entries.ts")).search,
  }),
  command("memory archive restore <id>", "restore an archived entry", {
    args: { id: "an id from 'hermes memory archive list'" },
    flags: { dir },
    examples: ["hermes memory archive restore 1a2b3c4d"],
    load: async () => (await import("./entries.ts")).restore,
  }),
  command(
    "memory forget [text]",
    "erase a text from files, journal, archive, backups, staged writes and the active provider",
    {
      args: { text: "every entry that contains it is deleted whole ('-' reads standard input)" },
      flags: {
        ...entryFlags,
        target: { ...target, summary: "the target that --entry counts in (memory)" },
        dir,
        yes,
      },
      examples: ["hermes memory forget 'the text'", "hermes memory forget - --yes < secret.txt"],
      load: async () => (await import("./forget.ts")).forget,
    },
  ),
  command("memory pending", "list the writes that wait for approval", {
    examples: ["hermes memory pending", "hermes memory pending --json"],
    load: async () => (await import("../staged.ts")).pendingMemory,
  }),
  command("memory approve <id>", "save a staged write, or all of them", {
    args: { id: pendingId },
    flags: { "allow-secret": allowSecret },
    examples: ["hermes memory approve 1a2b3c4d", "hermes memory approve all"],
    load: async () => (await import("../staged.ts")).approveMemory,
  }),
  command("memory reject <id>", "drop a staged write, or all of them", {
    args: { id: pendingId },
    examples: ["hermes memory reject 1a2b3c4d", "hermes memory reject all"],
    load: async () => (await import("../staged.ts")).rejectMemory,
  }),
  command("memory reset", "delete the memory files; 'undo' brings them back unless --purge is given", {
    flags: {
      target: { ...target, summary: "'memory', 'user' or 'all' (all)", choices: ["all", "memory", "user"] },
      dir,
      yes,
      purge: flag.on("also delete history, archive, backups, pins and staged writes"),
    },
    examples: ["hermes memory reset", "hermes memory reset --target user --yes"],
    load: async () => (await import("./reset.ts")).reset,
  }),
  command("memory status", "show usage, sizes, pins, archive, journal, approval and the external provider", {
    flags: { dir },
    examples: ["hermes memory status", "hermes memory status --json"],
    load: async () => (await import("./provider/provider-status.ts")).status,
  }),
  command("memory setup [provider]", "choose an external memory provider, set it up and switch it on", {
    args: { provider: "its name, or 'none'; without it you choose from a list" },
    flags: {
      set: {
        kind: "text",
        placeholder: "key=value",
        isRepeatable: true,
        summary: "answer a question in advance; may be given several times",
      },
      yes: { ...yes, summary: "ask nothing: use the defaults, install the packages it needs" },
    },
    examples: [
      "hermes memory setup",
      "hermes memory setup holographic --yes",
      "hermes memory setup holographic --set auto_extract=true --set default_trust=0.6 --yes",
    ],
    load: async () => (await import("./provider/provider-setup.ts")).setup,
  }),
  command("memory off", "switch the external provider off; its data stays", {
    examples: ["hermes memory off"],
    load: async () => (await import("./provider/provider-setup.ts")).off,
  }),
  command("memory providers", "list the external memory providers, bundled and in the plugins folder", {
    examples: ["hermes memory providers", "hermes memory providers --json"],
    load: async () => (await import("./provider/provider-status.ts")).providers,
  }),
  command(
    "memory test [provider]",
    "let a provider write, recall and clean up, and print how long each step takes",
    {
      args: { provider: "its name; by default the active one" },
      examples: ["hermes memory test", "hermes memory test holographic --json"],
      load: async () => (await import("./provider/run-provider.ts")).test,
    },
  ),
  command("memory upload", "copy the entries that the active provider does not have yet", {
    flags: {
      target: { ...target, summary: "only 'memory' or 'user' (both)" },
      "dry-run": flag.on("ask the provider what is missing and copy nothing"),
    },
    examples: ["hermes memory upload --dry-run", "hermes memory upload --target user"],
    load: async () => (await import("./provider/run-provider.ts")).upload,
  }),
  command(
    "memory outbox list",
    "list what waits for a provider's server, and the dead letters that it refused",
    {
      flags: { provider: ofProvider },
      examples: ["hermes memory outbox list", "hermes memory outbox list --json"],
      load: async () => (await import("./provider/outbox.ts")).list,
    },
  ),
  command("memory outbox send", "start the active provider and let it send what waits, also for users", {
    flags: {
      provider: { ...ofProvider, summary: "start this provider, although it is not active" },
      timeout: { ...flag.count("how long to wait (30)"), placeholder: "seconds" },
    },
    examples: ["hermes memory outbox send", "hermes memory outbox send --timeout 120"],
    load: async () => (await import("./provider/outbox.ts")).send,
  }),
  command("memory outbox retry [id...]", "let dead letters be sent again: all, or those with these ids", {
    args: { id: deadIds },
    flags: { provider: ofProvider },
    examples: ["hermes memory outbox retry", "hermes memory outbox retry 17 18"],
    load: async () => (await import("./provider/outbox.ts")).retry,
  }),
  command(
    "memory outbox drop [id...]",
    "delete writes for good: all dead letters, or the writes with these ids, also waiting ones",
    {
      args: { id: "ids from 'hermes memory outbox list'; without one, all dead letters" },
      flags: { provider: ofProvider, yes },
      examples: ["hermes memory outbox drop 17", "hermes memory outbox drop --provider mem0 --yes"],
      load: async () => (await import("./provider/outbox.ts")).drop,
    },
  ),
  command("memory recall <text>", "print the text that the active provider adds to a prompt", {
    args: { text: "as a user would type it ('-' reads standard input)" },
    examples: ["hermes memory recall 'how do we deploy?'"],
    load: async () => (await import("./provider/run-provider.ts")).recall,
  }),
  command(
    "memory tool [name] [arguments...]",
    "list the tools of memory, sessions, skills and the active provider, or call one as a model would",
    {
      args: { name: "the tool; without it all are listed", arguments: "key=value, or one JSON object" },
      examples: [
        "hermes memory tool",
        "hermes memory tool session_search query='kiln temperature'",
        "hermes memory tool fact_store action=add content='The kiln is fired at 1240 degrees'",
        'hermes memory tool fact_store \'{"action": "probe", "entity": "Maria Duarte"}\'',
      ],
      load: async () => (await import("./tool.ts")).tool,
    },
  ),
  command("memory path", "print the memory directory", {
    flags: { dir },
    examples: ["hermes memory path", 'cd "$(hermes memory path)"'],
    load: async () => (await import("./provider/provider-status.ts")).path,
  }),
];
