// `hermes doctor` as data.
import type { CommandSpec } from "../command.ts";

export const doctorCommands: readonly CommandSpec[] = [
  {
    name: "doctor",
    summary: "check runtime, home, settings and memory files (exit code 1 when something fails)",
    examples: ["hermes doctor", "hermes -p work doctor", "hermes doctor --json"],
    worksWithoutProfile: true,
    load: async () => (await import("./run.ts")).doctor,
  },
];
