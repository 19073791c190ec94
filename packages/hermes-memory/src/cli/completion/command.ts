// `hermes completion` as data.
import type { CommandSpec } from "../command.ts";

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
    load: async () => (await import("./run.ts")).completion,
  },
];
