// `hermes setup` as data.
import type { CommandSpec } from "../command.ts";
import { modelFlags } from "../model/commands.ts";

export const setupCommands: readonly CommandSpec[] = [
  {
    name: "setup",
    summary: "choose a model: one on this machine, or a vendor's with its key; then try it",
    flags: {
      local: {
        kind: "boolean",
        summary: "a server found on this machine (Ollama, LM Studio, llama.cpp, vLLM)",
      },
      ...modelFlags,
      model: { kind: "text", placeholder: "name", summary: "the model, as the provider writes its name" },
      "key-env": {
        kind: "text",
        placeholder: "variable",
        summary: "save the key this variable of the environment holds",
      },
      "key-stdin": { kind: "boolean", summary: "save the key that is piped in" },
      "no-test": { kind: "boolean", summary: "do not try the model afterwards" },
      yes: { kind: "boolean", short: "y", summary: "ask nothing; what is missing ends the command" },
    },
    examples: [
      "hermes setup",
      "hermes setup --local",
      "hermes setup --provider anthropic --model claude-sonnet-5-5 --key-env MY_KEY --yes",
      "pass show openai | hermes setup --provider openai --model gpt-5.5 --key-stdin --yes",
      "hermes setup --base-url http://10.0.0.5:8000/v1 --model my-model --no-test --yes",
    ],
    load: async () => (await import("./setup.ts")).setup,
  },
];
