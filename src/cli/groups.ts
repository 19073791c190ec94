// The command groups. A group's commands are loaded when it is asked for.
import type { CommandSpec } from "./command.ts";

export type Group = {
  readonly name: string;
  readonly summary: string;
  /** True when the group is itself one command at the top level. */
  readonly isCommand?: boolean;
  readonly load: () => Promise<readonly CommandSpec[]>;
};

export const GROUPS: readonly Group[] = [
  {
    name: "memory",
    summary: "show, edit, explain and undo what an agent remembers",
    load: async () => (await import("./memory/commands.ts")).memoryCommands,
  },
];
