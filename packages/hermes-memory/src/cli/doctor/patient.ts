// The home, config and environment that every check of `hermes doctor` gets.
import type { MemoryConfig } from "@hermes-memory/core/config";
import type { Memory } from "@hermes-memory/core/memory";
import type { CommandContext } from "../command.ts";

/** Paths are absolute. */
export type Patient = {
  readonly memory: Memory;
  readonly home: string;
  readonly root: string;
  readonly config: MemoryConfig;
  readonly env: CommandContext["io"]["env"];
};
