// The `hermes prompt-size` command as data.
import type { CommandSpec } from "./command.ts";

export const promptSizeCommands: readonly CommandSpec[] = [
  {
    name: "prompt-size",
    summary: "show how large the system prompt is, part by part, and what was left out of it",
    flags: {
      platform: {
        kind: "text",
        placeholder: "name",
        summary: "where the agent speaks: cli (default), api_server, telegram, ...",
      },
    },
    examples: ["hermes prompt-size", "hermes prompt-size --platform telegram --json"],
    load: async () => (await import("./prompt/measure-prompt.ts")).promptSize,
  },
];
