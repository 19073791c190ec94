// Specs of commands that have no subcommands. Each body is loaded when its command runs.
import { type CommandSpec, flag } from "./command.ts";
import { modelFlags } from "./model/commands.ts";

export const setupCommands: readonly CommandSpec[] = [
  {
    name: "setup",
    summary: "choose a model on this machine or a vendor's with its key, then test it",
    flags: {
      local: flag.on("a server found on this machine (Ollama, LM Studio, llama.cpp, vLLM)"),
      ...modelFlags,
      model: flag.text("name", "the model, as the provider writes its name"),
      "key-env": flag.text("variable", "save the key that this environment variable holds"),
      "key-stdin": flag.on("save the key from standard input"),
      "no-test": flag.on("do not test the model afterwards"),
      yes: flag.on("ask nothing; fail if an answer is missing", "y"),
    },
    examples: [
      "hermes setup",
      "hermes setup --local",
      "hermes setup --provider anthropic --model claude-sonnet-5-5 --key-env MY_KEY --yes",
      "pass show openai | hermes setup --provider openai --model gpt-5.5 --key-stdin --yes",
      "hermes setup --base-url http://10.0.0.5:8000/v1 --model my-model --no-test --yes",
    ],
    load: async () => (await import("./setup/setup.ts")).setup,
  },
];

export const hookCommands: readonly CommandSpec[] = [
  {
    name: "hook",
    summary:
      "answer one call of another agent, whose JSON is on standard input; 'hermes mcp install --hooks' enters these commands in its settings",
    arguments: [
      { name: "client", summary: "the agent that calls", offers: ["claude-code", "codex", "cursor"] },
      { name: "event", summary: "the event, as that agent writes it", offers: ["SessionStart", "Stop"] },
    ],
    flags: {
      home: flag.text("path", "use this home instead of the one in HERMES_HOME; goes before the client"),
    },
    examples: [
      `echo '{"session_id":"s1","source":"startup"}' | hermes hook claude-code SessionStart`,
      "hermes hook --home ~/.hermes codex Stop < payload.json",
    ],
    worksWithoutProfile: true,
    load: async () => (await import("./hook/run-hook.ts")).hook,
  },
];

export const doctorCommands: readonly CommandSpec[] = [
  {
    name: "doctor",
    summary:
      "check runtime, home, settings, memory files and the MCP clients set up here (exit code 1 when something fails)",
    flags: {
      fix: flag.on("rewrite entries of MCP clients that start a hermes that has moved, after a backup"),
      network: flag.on("also ask the active provider's service whether it can be reached"),
    },
    examples: [
      "hermes doctor",
      "hermes -p work doctor",
      "hermes doctor --fix",
      "hermes doctor --network",
      "hermes doctor --json",
    ],
    worksWithoutProfile: true,
    load: async () => (await import("./doctor/doctor.ts")).doctor,
  },
];

export const completionCommands: readonly CommandSpec[] = [
  {
    name: "completion",
    summary: "print a completion script for bash, zsh or fish",
    arguments: [{ name: "shell", summary: "the shell to complete in", choices: ["bash", "zsh", "fish"] }],
    examples: [
      'eval "$(hermes completion bash)"                                  # in ~/.bashrc',
      'eval "$(hermes completion zsh)"                                   # in ~/.zshrc, after compinit',
      "hermes completion fish > ~/.config/fish/completions/hermes.fish",
    ],
    worksWithoutProfile: true,
    load: async () => (await import("./completion/completion.ts")).completion,
  },
];

export const exportCommands: readonly CommandSpec[] = [
  {
    name: "export",
    summary: "write conversations and memory to files: Markdown, JSON lines, or like a ChatGPT export",
    arguments: [
      { name: "out", summary: "a folder; for jsonl also a .jsonl file, for chatgpt also a .json file" },
    ],
    flags: {
      format: flag.choice(
        ["markdown", "jsonl", "chatgpt"],
        "markdown (default): to read; jsonl: to import again; chatgpt: for other programs",
      ),
      source: flag.text("source", "only sessions from this source: cli, telegram, ..."),
      since: flag.text("time", "only sessions active since: 2026-01-31, 7d, yesterday"),
      "session-id": flag.text("id", "only this session; the beginning of an id is enough"),
      all: flag.on("also turns that were taken back"),
      "no-memory": flag.on("only conversations"),
      redact: flag.on("mask what looks like a credential"),
      force: flag.on("write to a folder that is not empty, or replace the file"),
      verbose: flag.on("print progress lines where there is no terminal", "v"),
    },
    examples: [
      "hermes export ~/hermes-notes",
      "hermes export backup.jsonl --format jsonl --all",
      "hermes export conversations.json --format chatgpt --since 30d --redact",
    ],
    load: async () => (await import("./export/export.ts")).exportAll,
  },
];

export const promptSizeCommands: readonly CommandSpec[] = [
  {
    name: "prompt-size",
    summary: "show how large the system prompt is, part by part, and what was left out of it",
    flags: {
      platform: flag.text("name", "platform of the agent: cli (default), api_server, telegram, ..."),
    },
    examples: ["hermes prompt-size", "hermes prompt-size --platform telegram --json"],
    load: async () => (await import("./prompt-size.ts")).promptSize,
  },
];

export const demoCommands: readonly CommandSpec[] = [
  {
    name: "demo",
    summary:
      "show what each layer does, offline: two sessions of the real agent with a scripted model (exit code 1 when a step fails)",
    flags: {
      home: flag.text("dir", "work in this empty directory, and keep it"),
      keep: flag.on("keep the temporary home, and say where it is"),
    },
    examples: ["hermes demo", "hermes demo --keep", "hermes demo --json"],
    worksWithoutProfile: true, // it makes its own home
    load: async () => (await import("./demo.ts")).demo,
  },
];
