// The `hermes chat` command as data. Its body is loaded when it runs.
import { type CommandSpec, flag } from "../command.ts";

export const chatCommands: readonly CommandSpec[] = [
  {
    name: "chat",
    summary: "talk to a model that remembers; a question with -q, a conversation without",
    flags: {
      query: flag.text("question", "ask this, print the answer, end; '-' reads it from standard input", "q"),
      resume: flag.text("session", "go on with this session: its id, a beginning of it, or its title"),
      continue: flag.on("go on with the newest session", "c"),
      model: flag.text("name", "the model, instead of the configured one"),
      provider: flag.text("name", "the provider that serves it: anthropic, openai, ollama, ..."),
      "base-url": flag.text("url", "address of an OpenAI-compatible server"),
      toolsets: flag.text("a,b", "only the tools of these sets; 'none' for none"),
      "max-turns": flag.count("the most model calls in one turn"),
      system: { kind: "text", summary: "instructions of your own, added to the system prompt" },
      "no-memory": flag.on("without curated memory and memory provider"),
      quiet: flag.on("print answers and errors only (with -q and in a pipe)"),
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
