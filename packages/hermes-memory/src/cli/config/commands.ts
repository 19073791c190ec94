// Specs of the `hermes config` commands. Each body is loaded when its command runs.
import { CONFIG_KEYS } from "@hermes-memory/core/internal/config";
import type { ArgumentSpec, CommandSpec } from "../command.ts";

const key: ArgumentSpec = {
  name: "key",
  summary: "names joined by dots, such as memory.provider",
  offers: CONFIG_KEYS.filter((row) => row.kind !== "unused" && !row.key.includes("*")).map((row) => row.key),
};

export const configCommands: readonly CommandSpec[] = [
  {
    name: "config get",
    summary: "print one setting, a section, or everything that applies",
    arguments: [{ ...key, isOptional: true }],
    flags: { reveal: { kind: "boolean", summary: "also print keys, tokens and passwords" } },
    examples: [
      "hermes config get",
      "hermes config get memory",
      "hermes config get memory.provider --json",
      "hermes config get model.api_key --reveal",
    ],
    load: async () => (await import("./config-values.ts")).get,
  },
  {
    name: "config set",
    summary: "change one setting; comments and other lines stay",
    arguments: [key, { name: "value", summary: "a YAML value: text, number, true, [a, b]" }],
    examples: [
      "hermes config set memory.memory_char_limit 3000",
      "hermes config set memory.write_approval on",
    ],
    load: async () => (await import("./config-values.ts")).set,
  },
  {
    name: "config unset",
    summary: "remove one setting, so that its default applies",
    arguments: [key],
    examples: ["hermes config unset memory.provider"],
    load: async () => (await import("./config-values.ts")).unset,
  },
  {
    name: "config path",
    summary: "print where config.yaml is",
    examples: ["hermes config path"],
    load: async () => (await import("./config-values.ts")).path,
  },
  {
    name: "config check",
    summary: "check config.yaml for mistakes (exit code 1 when there are any)",
    examples: ["hermes config check", "hermes config check --json"],
    load: async () => (await import("./config-values.ts")).check,
  },
];
