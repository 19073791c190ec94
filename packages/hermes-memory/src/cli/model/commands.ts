// Specs of the `hermes model` commands. Each body is loaded when its command runs.
import { type CommandSpec, command, type FlagSpec, flag } from "../command.ts";

const provider = flag.text("name", "the provider, a name from 'hermes model list'");
const baseUrl = flag.text("url", "address of its server, if not the provider's default");
const apiMode: FlagSpec = {
  ...flag.choice(["chat_completions", "responses", "anthropic_messages", "google"], "the server's protocol"),
  placeholder: "mode",
};
const contextLength = flag.count("size of its context window in tokens, if the server does not report it");

export const modelFlags = {
  provider,
  "base-url": baseUrl,
  "api-mode": apiMode,
  "context-length": contextLength,
} as const;

export const modelCommands: readonly CommandSpec[] = [
  command("model", "show the model conversations use, its window, and where its key comes from", {
    examples: ["hermes model", "hermes model --json"],
    load: async () => (await import("./show-models.ts")).show,
  }),
  command("model show", "show the model conversations use; 'hermes model' alone does the same", {
    examples: ["hermes model show --json"],
    load: async () => (await import("./show-models.ts")).show,
  }),
  command(
    "model list",
    "list the model servers on this machine with their models, and the vendors that a key is set for",
    {
      flags: { provider: { ...provider, summary: "only this one, with the models that its server lists" } },
      examples: ["hermes model list", "hermes model list --provider ollama", "hermes model list --json"],
      load: async () => (await import("./show-models.ts")).list,
    },
  ),
  command("model set <model>", "choose the model for new conversations (writes model.*; comments stay)", {
    args: { model: "its name as the provider writes it" },
    flags: {
      ...modelFlags,
      yes: flag.on("remove another server's key from config.yaml without asking", "y"),
    },
    examples: [
      "hermes model set claude-sonnet-5-5",
      "hermes model set qwen3:8b --provider ollama",
      "hermes model set my-model --base-url http://127.0.0.1:9000/v1 --context-length 32768",
    ],
    load: async () => (await import("./set-model.ts")).set,
  }),
  command(
    "model test",
    "ask the model for a word and a tool call; print the times (exit code 1 when it fails)",
    {
      flags: {
        model: flag.text("name", "this model instead of the configured one"),
        provider,
        "base-url": baseUrl,
        "api-mode": apiMode,
      },
      examples: [
        "hermes model test",
        "hermes model test --model qwen3:8b --provider ollama",
        "hermes model test --json",
      ],
      load: async () => (await import("./test-model.ts")).test,
    },
  ),
];
