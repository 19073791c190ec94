// The clients: what is installed, the files each needs in its HOME, and its command lines. One entry per client; the checks know none.
import { join } from "node:path";

export type Place = {
  readonly home: string;
  readonly repo: string;
  /** Ends in `/v1`; for the scripted model itself when the gateway is not in between. */
  readonly openai: string;
  /** The same server without `/v1`. */
  readonly root: string;
  /** Program and arguments of our MCP server, if the client shall have it. */
  readonly mcp: readonly string[] | undefined;
};

type Turn = "first" | "next";

export type Client = {
  /** Specifiers for `npm install`; the first one is the client and its version the one that is reported. */
  readonly packages: readonly string[];
  readonly bin: string;
  /** Of the model's server, as in config.yaml; undefined: it speaks no protocol of the gateway. */
  readonly apiMode?: "chat_completions" | "responses" | "anthropic_messages";
  /** `--from` of `hermes sessions import`. */
  readonly source: string;
  /** `--client` of `hermes mcp install --hooks`. */
  readonly hooks?: string;
  /** How our server gets into its config: by `hermes mcp install`, by `files`, or the reason why it does not. */
  readonly mcp: "install" | "files" | { readonly none: string };
  /** For a client that calls MCP tools through a tool of its own: that call, with the JSON arguments of ours in it. */
  mcpCall?(call: string): readonly [string, object];
  /** Why its chats have one turn only. */
  readonly single?: string;
  /** A call that prints `stool-ok`. */
  readonly tool: readonly [string, object];
  files?(place: Place): Readonly<Record<string, string | object>>;
  env?(place: Place): Readonly<Record<string, string>>;
  /** `chat` differs for each conversation; `next` continues the latest one. */
  args(prompt: string, turn: Turn, chat: string, place: Place): readonly string[];
};

const SHELL = { command: "echo stool-ok" };
const KEY = "sk-test";

/** opencode and Kilo share a config format. */
function opencodeConfig({ openai, mcp }: Place): object {
  const model = { name: "Fake", tool_call: true, limit: { context: 128_000, output: 8000 } };
  return {
    autoupdate: false,
    share: "disabled",
    model: "hermes/fake-model",
    small_model: "hermes/fake-model",
    permission: "allow",
    provider: {
      hermes: {
        npm: "@ai-sdk/openai-compatible",
        name: "Hermes",
        options: { baseURL: openai, apiKey: KEY },
        models: { "fake-model": model },
      },
    },
    ...(mcp ? { mcp: { hermes: { type: "local", command: mcp, enabled: true } } } : {}),
  };
}

function mcpServers({ mcp }: Place, more: object = {}): object {
  if (!mcp) return {};
  return { mcpServers: { hermes: { command: mcp[0], args: mcp.slice(1), ...more } } };
}

export const CLIENTS: Readonly<Record<string, Client>> = {
  claude: {
    packages: ["@anthropic-ai/claude-code@2.1.326"],
    bin: "claude",
    apiMode: "anthropic_messages",
    source: "claude-code",
    hooks: "claude-code",
    mcp: "install",
    tool: ["Bash", { ...SHELL, description: "Say it" }],
    env: ({ root }) => ({
      ANTHROPIC_BASE_URL: root,
      ANTHROPIC_AUTH_TOKEN: KEY,
      IS_SANDBOX: "1",
      ENABLE_TOOL_SEARCH: "false",
    }),
    args: (prompt, turn) => [
      ...(turn === "next" ? ["--continue"] : []),
      ...["--dangerously-skip-permissions", "-p", prompt],
    ],
  },
  codex: {
    packages: ["@openai/codex@0.169.0"],
    bin: "codex",
    apiMode: "responses",
    source: "codex",
    hooks: "codex",
    mcp: "install",
    tool: ["exec", { input: 'text((await tools.exec_command({ cmd: "echo stool-ok" })).output)' }],
    mcpCall: (call) => ["exec", { input: `text(await tools.mcp__hermes_memory__memory(${call}))` }],
    files: ({ openai, repo }) => ({
      ".codex/config.toml": `model_provider = "hermes"
[model_providers.hermes]
name = "hermes-memory"
base_url = "${openai}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[analytics]
enabled = false
[projects."${repo}"]
trust_level = "trusted"
`,
    }),
    env: () => ({ OPENAI_API_KEY: KEY }),
    args: (prompt, turn) => [
      ...["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
      // Hooks are asked for once in the terminal; there is nobody to ask here.
      "--dangerously-bypass-hook-trust",
      ...(turn === "next" ? ["resume", "--last"] : []),
      prompt,
    ],
  },
  opencode: {
    packages: ["opencode-ai@1.18.33"],
    bin: "opencode",
    apiMode: "chat_completions",
    source: "opencode",
    mcp: "files",
    tool: ["bash", { ...SHELL, description: "Say it" }],
    files: (place) => ({ ".config/opencode/opencode.json": opencodeConfig(place) }),
    args: (prompt, turn) => ["run", ...(turn === "next" ? ["--continue"] : []), prompt],
  },
  qwen: {
    packages: ["@qwen-code/qwen-code@0.24.4"],
    bin: "qwen",
    apiMode: "chat_completions",
    source: "qwen-code",
    hooks: "qwen-code",
    mcp: "files",
    mcpCall: (call) => ["tool_call", { name: "mcp__hermes__memory", arguments: JSON.parse(call) }],
    tool: ["run_shell_command", { ...SHELL, is_background: false }],
    files: (place) => ({
      ".qwen/settings.json": {
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        general: { enableAutoUpdate: false },
        security: { auth: { selectedType: "openai" } },
        ...mcpServers(place, { trust: true }),
        $version: 4,
      },
    }),
    env: ({ openai }) => ({ OPENAI_BASE_URL: openai, OPENAI_API_KEY: KEY, OPENAI_MODEL: "fake-model" }),
    args: (prompt, turn) => [...(turn === "next" ? ["--continue"] : []), "--yolo", "-p", prompt],
  },
  openclaw: {
    packages: ["openclaw@2026.9.6"], // its install script needs Node 24, which npm() puts first in PATH
    bin: "openclaw",
    apiMode: "chat_completions",
    source: "openclaw",
    mcp: { none: "its MCP servers belong to its daemon, which the suite does not start" },
    tool: ["exec", SHELL],
    files: ({ home, openai }) => {
      const model = {
        id: "fake-model",
        name: "Fake",
        contextWindow: 128_000,
        maxTokens: 4096,
        input: ["text"],
      };
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
      const provider = { baseUrl: openai, api: "openai-completions", apiKey: KEY };
      return {
        ".openclaw/openclaw.json": {
          agents: {
            defaults: {
              workspace: join(home, ".openclaw/workspace"),
              model: { primary: "hermes/fake-model" },
            },
          },
          gateway: { mode: "local", auth: { mode: "token", token: "test" }, bind: "loopback" },
          tools: { profile: "full" },
          models: {
            mode: "merge",
            providers: { hermes: { ...provider, models: [{ ...model, cost, reasoning: false }] } },
          },
        },
      };
    },
    args: (prompt, _turn, chat) => [
      ...["agent", "--local", "--agent", "main", "--session-id", `suite-${chat}`, "--message", prompt],
    ],
  },
  copilot: {
    packages: ["@github/copilot@1.0.102"],
    bin: "copilot",
    apiMode: "chat_completions",
    source: "copilot-cli",
    hooks: "copilot-cli",
    mcp: "files",
    tool: ["bash", { ...SHELL, description: "Say it" }],
    files: (place) => ({
      ".copilot/mcp-config.json": { mcpServers: {}, ...mcpServers(place, { type: "local", tools: ["*"] }) },
    }),
    env: ({ openai }) => ({
      COPILOT_PROVIDER_BASE_URL: openai,
      COPILOT_PROVIDER_API_KEY: KEY,
      COPILOT_MODEL: "fake-model",
      COPILOT_OFFLINE: "true",
    }),
    args: (prompt, turn) => [
      ...(turn === "next" ? ["--continue"] : []),
      ...["--allow-all-tools", "--no-auto-update", "-p", prompt],
    ],
  },
  cline: {
    packages: ["cline@3.0.65"],
    bin: "cline",
    apiMode: "chat_completions",
    source: "cline",
    mcp: "files",
    single: "--id asks for a terminal",
    tool: ["run_commands", { commands: [SHELL.command] }],
    files: (place) => ({
      ".cline/data/settings/providers.json": {
        version: 1,
        lastUsedProvider: "openai-compatible",
        modes: {},
        providers: {
          "openai-compatible": {
            settings: {
              provider: "openai-compatible",
              apiKey: KEY,
              model: "fake-model",
              baseUrl: place.openai,
            },
            updatedAt: "2026-01-01T00:00:00.000Z",
            tokenSource: "manual",
          },
        },
      },
      ...(place.mcp ? { ".cline/data/settings/cline_mcp_settings.json": mcpServers(place) } : {}),
    }),
    args: (prompt) => ["--auto-approve", "true", prompt],
  },
  pi: {
    packages: ["@mariozechner/pi-coding-agent@0.73.1"],
    bin: "pi",
    apiMode: "chat_completions",
    source: "pi",
    mcp: { none: "it has no MCP" },
    tool: ["bash", SHELL],
    files: ({ openai }) => ({
      ".pi/agent/models.json": {
        providers: {
          hermes: {
            baseUrl: openai,
            api: "openai-completions",
            apiKey: KEY,
            models: [{ id: "fake-model", name: "Fake", contextWindow: 128_000, maxTokens: 8000 }],
          },
        },
      },
    }),
    args: (prompt, turn) => [
      ...(turn === "next" ? ["--continue"] : []),
      ...["--offline", "--model", "hermes/fake-model", "-p", prompt],
    ],
  },
  continue: {
    packages: ["@continuedev/cli@1.5.47"],
    bin: "cn",
    apiMode: "chat_completions",
    source: "continue",
    mcp: "files",
    mcpCall: (call) => ["memory", JSON.parse(call)], // it does not put the server's name in front
    tool: ["Bash", SHELL],
    files: ({ openai, mcp }) => ({
      ".continue/config.yaml": `name: test
version: 0.0.1
schema: v1
models:
  - name: Fake
    provider: openai
    model: fake-model
    apiBase: ${openai}
    apiKey: ${KEY}
    roles: [chat]
    capabilities: [tool_use]
${mcp ? `mcpServers: [{ name: hermes, command: "${mcp[0]}", args: ${JSON.stringify(mcp.slice(1))} }]\n` : ""}`,
    }),
    args: (prompt, turn, _chat, { home }) => [
      ...["--config", join(home, ".continue/config.yaml"), "--auto"],
      ...(turn === "next" ? ["--resume"] : []),
      ...["-p", prompt],
    ],
  },
  kilo: {
    // 7.7.9 exists for the platform package only, and each asks for its own version of the other.
    packages: ["@kilocode/cli@7.7.7", "@kilocode/cli-linux-x64@7.7.7"],
    bin: "kilo",
    apiMode: "chat_completions",
    source: "kilo",
    mcp: "files",
    tool: ["bash", { ...SHELL, description: "Say it" }],
    files: (place) => ({ ".config/kilo/kilo.json": opencodeConfig(place) }),
    args: (prompt, turn) => ["run", ...(turn === "next" ? ["--continue"] : []), prompt],
  },
  droid: {
    packages: ["droid@0.215.0"],
    bin: "droid",
    apiMode: "chat_completions",
    source: "droid",
    hooks: "droid",
    mcp: { none: "its tool search shows tools of a server only after a log-in" },
    single: "-s asks Factory's service for the session",
    tool: [
      "Execute",
      { ...SHELL, summary: "Say it", timeout: 10, riskLevel: "low", riskLevelReason: "echo" },
    ],
    files: (place) => ({
      ".factory/settings.json": {
        customModels: [
          {
            model: "fake-model",
            displayName: "Fake",
            baseUrl: place.openai,
            apiKey: KEY,
            provider: "generic-chat-completion-api",
            maxOutputTokens: 8000,
          },
        ],
      },
      ...(place.mcp ? { ".factory/mcp.json": mcpServers(place, { type: "stdio", disabled: false }) } : {}),
    }),
    env: () => ({ FACTORY_API_KEY: "fk-test" }),
    args: (prompt) => ["exec", "--skip-permissions-unsafe", "-m", "custom:Fake-0", prompt],
  },
  gemini: {
    packages: ["@google/gemini-cli@0.61.0"],
    bin: "gemini",
    source: "gemini-cli",
    hooks: "gemini-cli",
    mcp: "files",
    tool: ["run_shell_command", SHELL],
    files: (place) => ({
      ".gemini/settings.json": {
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        general: { enableAutoUpdate: false },
        security: { auth: { selectedType: "gemini-api-key" } },
        ...mcpServers(place, { trust: true }),
      },
    }),
    env: ({ root }) => ({
      GOOGLE_GEMINI_BASE_URL: root,
      GEMINI_API_KEY: KEY,
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    }),
    args: (prompt, turn) => [...(turn === "next" ? ["--resume", "latest"] : []), "--yolo", "-p", prompt],
  },
};
