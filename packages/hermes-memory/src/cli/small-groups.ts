// Specs of the commands of small groups, many of them one command. Each body is loaded when its command runs.
import { CONFIG_KEYS } from "@hermes-memory/core/internal/config";
import { type CommandSpec, command, flag } from "./command.ts";
import { modelFlags } from "./model/commands.ts";

const configKey = {
  summary: "names joined by dots, such as memory.provider",
  offers: CONFIG_KEYS.filter((row) => row.kind !== "unused" && !row.key.includes("*")).map((row) => row.key),
};
const dryRun = flag.on("print what would change, and change nothing");

export const smallGroups: readonly CommandSpec[] = [
  command("setup", "choose a model on this machine or a vendor's with its key, then test it", {
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
  }),
  command(
    "hook <client> <event>",
    "answer one call of another agent, whose JSON is on standard input; 'hermes mcp install --hooks' enters these commands in its settings",
    {
      args: {
        client: { summary: "the agent that calls", offers: ["claude-code", "codex", "cursor"] },
        event: { summary: "the event, as that agent writes it", offers: ["SessionStart", "Stop"] },
      },
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
  ),
  command(
    "doctor",
    "check runtime, home, settings, memory files and the MCP clients set up here (exit code 1 when something fails)",
    {
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
  ),
  command("completion <shell>", "print a completion script for bash, zsh or fish", {
    args: { shell: { summary: "the shell to complete in", choices: ["bash", "zsh", "fish"] } },
    examples: [
      'eval "$(hermes completion bash)"                                  # in ~/.bashrc',
      'eval "$(hermes completion zsh)"                                   # in ~/.zshrc, after compinit',
      "hermes completion fish > ~/.config/fish/completions/hermes.fish",
    ],
    worksWithoutProfile: true,
    load: async () => (await import("./completion/completion.ts")).completion,
  }),
  command(
    "export <out>",
    "write conversations and memory to files: Markdown, JSON lines, or like a ChatGPT export",
    {
      args: { out: "a folder; for jsonl also a .jsonl file, for chatgpt also a .json file" },
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
  ),
  command("prompt-size", "show how large the system prompt is, part by part, and what was left out of it", {
    flags: {
      platform: flag.text("name", "platform of the agent: cli (default), api_server, telegram, ..."),
    },
    examples: ["hermes prompt-size", "hermes prompt-size --platform telegram --json"],
    load: async () => (await import("./prompt-size.ts")).promptSize,
  }),
  command(
    "demo",
    "show what each layer does, offline: two sessions of the real agent with a scripted model (exit code 1 when a step fails)",
    {
      flags: {
        home: flag.text("dir", "work in this empty directory, and keep it"),
        keep: flag.on("keep the temporary home, and say where it is"),
      },
      examples: ["hermes demo", "hermes demo --keep", "hermes demo --json"],
      worksWithoutProfile: true, // it makes its own home
      load: async () => (await import("./demo.ts")).demo,
    },
  ),
  command("status", "show home, profile, memory usage and the last change", {
    examples: ["hermes status", "hermes -p work status --json"],
    load: async () => (await import("./status.ts")).status,
  }),
  command("context status", "show engine, window, when compaction starts, summary model and prompt caching", {
    examples: ["hermes context status", "hermes context status --json"],
    load: async () => (await import("./context/status-and-engines.ts")).status,
  }),
  command("context engines", "list the context engines; no plugin's code runs", {
    examples: ["hermes context engines", "hermes context engines --json"],
    load: async () => (await import("./context/status-and-engines.ts")).engines,
  }),
  command("context use <name>", "choose the engine for new sessions (writes context.engine; comments stay)", {
    args: { name: "an engine from 'hermes context engines'" },
    examples: ["hermes context use lcm", "hermes context use compressor --json"],
    load: async () => (await import("./context/status-and-engines.ts")).use,
  }),
  command(
    "serve",
    "give memory to every client that speaks OpenAI's or Anthropic's API: the gateway, until Ctrl-C (config: gateway.*)",
    {
      flags: {
        host: flag.text(
          "address",
          "address to listen on (127.0.0.1); every caller needs a token, here and beyond",
        ),
        port: {
          kind: "integer",
          placeholder: "n",
          summary: "port to listen on (8642); the next free one if it is taken, 0 for any",
        },
        mode: flag.choice(
          ["agent", "proxy"],
          "what /v1 does: run our agent, or add memory to the client's own requests",
        ),
      },
      examples: [
        "hermes serve",
        "hermes serve --port 9000 --mode proxy",
        "hermes -p work serve --json",
        "hermes serve --host 0.0.0.0",
      ],
      load: async () => (await import("./gateway/serve.ts")).serve,
    },
  ),
  command(
    "service install",
    "write the unit (systemd) or agent (launchd) that starts 'hermes serve' at login; starts nothing",
    {
      flags: { "dry-run": dryRun },
      examples: [
        "hermes service install --dry-run",
        "hermes service install",
        "hermes -p work service install",
      ],
      load: async () => (await import("./gateway/service.ts")).install,
    },
  ),
  command("service uninstall", "remove that file again, after a backup", {
    flags: { "dry-run": dryRun },
    examples: ["hermes service uninstall --dry-run", "hermes service uninstall"],
    load: async () => (await import("./gateway/service.ts")).uninstall,
  }),
  command(
    "service status",
    "show whether the service is installed, as this version would write it, and running",
    {
      examples: ["hermes service status", "hermes service status --json"],
      load: async () => (await import("./gateway/service.ts")).status,
    },
  ),
  command("service path", "print where the file of the service is", {
    examples: ["hermes service path"],
    load: async () => (await import("./gateway/service.ts")).path,
  }),
  command("token create", "make a token for a program that uses the gateway; it is printed this once", {
    flags: {
      name: flag.text("name", "what to call it, such as open-webui"),
      owner: flag.on("for your own memory and sessions (default)"),
      user: flag.text("platform:id", "for one user, whatever a request says"),
      "names-users": flag.on("for a program that names its user in each request; needs --platform"),
      platform: flag.text("name", "the platform of the program's users"),
      admin: flag.on("sees and acts for everybody"),
      expires: flag.text(
        "time",
        "when it stops working: after 12h, 30d or 52w, or at a date such as 2027-01-31",
      ),
      models: flag.text(
        "names",
        "the only models it may use, with commas; 'gpt-*' for a beginning, 'hermes' for config's",
      ),
      "requests-per-day": flag.count("most model requests per day (UTC)"),
      "tokens-per-day": flag.count("most tokens per day (UTC)"),
      "cost-per-day": flag.text("dollars", "most US dollars per day (UTC), by the prices that are known"),
      "max-users": {
        kind: "integer",
        minimum: 0,
        summary: "most users that it may name, 0 for any number (default: gateway.max_users)",
      },
    },
    examples: [
      "hermes token create --name laptop",
      "hermes token create --name open-webui --names-users --platform open-webui",
      "hermes token create --name alice --user api:alice --expires 30d",
      "hermes token create --name class --names-users --platform api --models gpt-5-mini --cost-per-day 5",
      "hermes token create --admin --name dashboard --json",
    ],
    load: async () => (await import("./gateway/token.ts")).create,
  }),
  command(
    "token local",
    "print the token of your own programs on this machine, and base URLs that contain it",
    {
      flags: {
        new: flag.on("replace it; a running gateway refuses the old one within a second"),
      },
      examples: ["hermes token local", "hermes token local --json", "hermes token local --new"],
      load: async () => (await import("./gateway/token.ts")).local,
    },
  ),
  command("token list", "list the tokens: rights, when each was made, last used and expires", {
    examples: ["hermes token list", "hermes token list --json"],
    load: async () => (await import("./gateway/token.ts")).list,
  }),
  command("token revoke <token>", "delete a token; a running gateway refuses it within a second", {
    args: { token: "its id or name" },
    flags: { yes: flag.on("do not ask", "y") },
    examples: ["hermes token revoke open-webui", "hermes token revoke 1f9a3c07 --yes"],
    load: async () => (await import("./gateway/token.ts")).revoke,
  }),
  command(
    "token path",
    "print where the tokens are kept; the file has their hashes only, the local token is beside it",
    {
      examples: ["hermes token path"],
      load: async () => (await import("./gateway/token.ts")).path,
    },
  ),
  command("config get [key]", "print one setting, a section, or everything that applies", {
    args: { key: configKey },
    flags: { reveal: flag.on("also print keys, tokens and passwords") },
    examples: [
      "hermes config get",
      "hermes config get memory",
      "hermes config get memory.provider --json",
      "hermes config get model.api_key --reveal",
    ],
    load: async () => (await import("./config/config-values.ts")).get,
  }),
  command("config set <key> <value>", "change one setting; comments and other lines stay", {
    args: { key: configKey, value: "a YAML value: text, number, true, [a, b]" },
    examples: [
      "hermes config set memory.memory_char_limit 3000",
      "hermes config set memory.write_approval on",
    ],
    load: async () => (await import("./config/config-values.ts")).set,
  }),
  command("config unset <key>", "remove one setting, so that its default applies", {
    args: { key: configKey },
    examples: ["hermes config unset memory.provider"],
    load: async () => (await import("./config/config-values.ts")).unset,
  }),
  command("config path", "print where config.yaml is", {
    examples: ["hermes config path"],
    load: async () => (await import("./config/config-values.ts")).path,
  }),
  command("config check", "check config.yaml for mistakes (exit code 1 when there are any)", {
    examples: ["hermes config check", "hermes config check --json"],
    load: async () => (await import("./config/config-values.ts")).check,
  }),
];
