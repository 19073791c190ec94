// `hermes demo` as data.
import type { CommandSpec } from "../command.ts";

export const demoCommands: readonly CommandSpec[] = [
  {
    name: "demo",
    summary:
      "show what each layer does, offline: three sessions of the real agent with a scripted model (exit code 1 when a step fails)",
    flags: {
      home: { kind: "text", placeholder: "dir", summary: "work in this empty directory, and keep it" },
      keep: { kind: "boolean", summary: "keep the temporary home, and say where it is" },
      serve: {
        kind: "boolean",
        summary: "afterwards keep the scripted server up, to try 'hermes chat' with it; Ctrl-C ends it",
      },
      quiet: { kind: "boolean", summary: "print failed steps and the last line only" },
    },
    examples: ["hermes demo", "hermes demo --keep", "hermes demo --serve", "hermes demo --json"],
    worksWithoutProfile: true, // it works in a home of its own
    load: async () => (await import("./demo.ts")).demo,
  },
];
