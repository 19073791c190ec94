// The `hermes chat` command as data. Its body is loaded when it runs.
import type { CommandSpec } from "../command.ts";

export const chatCommands: readonly CommandSpec[] = [
  {
    name: "chat",
    summary: "talk to a model that remembers; a question with -q, a conversation without",
    flags: {
      query: {
        kind: "text",
        short: "q",
        placeholder: "question",
        summary: "ask this, print the answer, end; '-' reads it from standard input",
      },
      resume: {
        kind: "text",
        placeholder: "session",
        summary: "go on with this session: its id, a beginning of it, or its title",
      },
      continue: { kind: "boolean", short: "c", summary: "go on with the newest session" },
      model: { kind: "text", placeholder: "name", summary: "the model, instead of the configured one" },
      provider: {
        kind: "text",
        placeholder: "name",
        summary: "the provider that serves it: anthropic, openai, ollama, ...",
      },
      "base-url": { kind: "text", placeholder: "url", summary: "address of an OpenAI-compatible server" },
      toolsets: {
        kind: "text",
        placeholder: "a,b",
        summary: "only the tools of these sets; 'none' for none",
      },
      "max-turns": { kind: "integer", minimum: 1, summary: "the most model calls in one turn" },
      system: { kind: "text", summary: "instructions of your own, added to the system prompt" },
      "no-memory": { kind: "boolean", summary: "without curated memory and memory provider" },
      quiet: { kind: "boolean", summary: "print answers and errors only (with -q and in a pipe)" },
    },
    examples: [
      "hermes chat",
      'hermes chat -q "What did we decide about the harbour crane?"',
      'git diff | hermes chat -q "Write a commit message for this"',
      "hermes chat --continue",
      'hermes chat --resume 20260101_090000_aaaaaa -q "And then?" --json',
      "hermes chat --provider ollama --model qwen3:8b",
    ],
    load: async () => (await import("./chat.ts")).chat,
  },
];
