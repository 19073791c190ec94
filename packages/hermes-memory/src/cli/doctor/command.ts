// `hermes doctor` as data.
import type { CommandSpec } from "../command.ts";

export const doctorCommands: readonly CommandSpec[] = [
  {
    name: "doctor",
    summary:
      "check runtime, home, settings, memory files and the MCP clients set up here (exit code 1 when something fails)",
    flags: {
      fix: {
        kind: "boolean",
        summary: "rewrite entries of MCP clients that start a hermes that has moved, after a backup",
      },
    },
    examples: ["hermes doctor", "hermes -p work doctor", "hermes doctor --fix", "hermes doctor --json"],
    worksWithoutProfile: true,
    load: async () => (await import("./run.ts")).doctor,
  },
];
