// /curator: the `hermes curator` commands inside a chat. The entrance runs them, so flags and answers are the same in both places.
import type { SlashCommand } from "./command.ts";
import { failed } from "./reply.ts";

export const curatorCommand: SlashCommand = {
  name: "curator",
  group: "memory",
  summary: "tidy memory and skills: status, runs, staged changes, rollback",
  usage: "[status | run [--dry-run] | approve | reject | rollback | history | pause | resume | ...]",
  words: ["status", "run", "approve", "reject", "rollback", "history", "pause", "resume", "backup"],
  run: ({ args, host }) => {
    if (host.runCurator === undefined)
      return failed(
        "no_command_line",
        "The curator cannot be run from here.",
        "Use 'hermes curator' in a shell.",
      );
    return host.runCurator(args === "" ? ["status"] : args.split(/\s+/));
  },
};
