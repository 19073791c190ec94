// The commands of the gateway: `hermes serve` and `hermes service`. Each body is loaded when its command runs.
import type { CommandSpec, FlagSpec } from "../command.ts";

export const serveCommands: readonly CommandSpec[] = [
  {
    name: "serve",
    summary:
      "give memory to every client that speaks OpenAI's or Anthropic's API: the gateway, until Ctrl-C (config: gateway.*)",
    flags: {
      host: {
        kind: "text",
        placeholder: "address",
        summary: "address to listen on (127.0.0.1); every caller needs a token, here and beyond",
      },
      port: {
        kind: "integer",
        placeholder: "n",
        summary: "port to listen on (8642); the next free one if it is taken, 0 for any",
      },
      mode: {
        kind: "text",
        choices: ["agent", "proxy"],
        summary: "what /v1 does: run our agent, or add memory to the client's own requests",
      },
    },
    examples: [
      "hermes serve",
      "hermes serve --port 9000 --mode proxy",
      "hermes -p work serve --json",
      "hermes serve --host 0.0.0.0",
    ],
    load: async () => (await import("./serve.ts")).serve,
  },
];

const dryRun: FlagSpec = { kind: "boolean", summary: "print what would change, and change nothing" };

export const serviceCommands: readonly CommandSpec[] = [
  {
    name: "service install",
    summary:
      "write the unit (systemd) or agent (launchd) that starts 'hermes serve' at login; starts nothing",
    flags: { "dry-run": dryRun },
    examples: [
      "hermes service install --dry-run",
      "hermes service install",
      "hermes -p work service install",
    ],
    load: async () => (await import("./service.ts")).install,
  },
  {
    name: "service uninstall",
    summary: "remove that file again, after a backup",
    flags: { "dry-run": dryRun },
    examples: ["hermes service uninstall --dry-run", "hermes service uninstall"],
    load: async () => (await import("./service.ts")).uninstall,
  },
  {
    name: "service status",
    summary: "show whether the service is installed, as this version would write it, and running",
    examples: ["hermes service status", "hermes service status --json"],
    load: async () => (await import("./service.ts")).status,
  },
  {
    name: "service path",
    summary: "print where the file of the service is",
    examples: ["hermes service path"],
    load: async () => (await import("./service.ts")).path,
  },
];
