// Short ways to make replies.
import { describeCause, errnoCode, HermesError } from "@hermes-memory/core/lib";
import { redactSecrets } from "@hermes-memory/core/security";
import type { SessionProblem } from "../surface.ts";
import type { CommandReply, SlashCommand } from "./command.ts";

export function told(lines: readonly string[], json: unknown): CommandReply {
  return { kind: "text", lines, json };
}

/** `message` says what happened and why, `hints` what to do. */
export function failed(kind: string, message: string, ...hints: readonly string[]): CommandReply {
  const hint = hints.join("\n");
  return {
    kind: "error",
    lines: [message, ...hints],
    json: { success: false, error: message, kind, ...(hint === "" ? {} : { hint }) },
  };
}

export function problemReply({ kind, message }: SessionProblem): CommandReply {
  return failed(kind, message);
}

export function hasToWait(what: string): CommandReply {
  const hint = "Interrupt it with Ctrl-C, or wait for its end.";
  return failed("busy", `${what} has to wait: a turn is running.`, hint);
}

export function wrongUsage(command: Pick<SlashCommand, "name" | "usage">): CommandReply {
  return failed("usage", `Usage: ${usageLine(command)}`);
}

export function usageLine({ name, usage }: Pick<SlashCommand, "name" | "usage">): string {
  return usage === "" ? `/${name}` : `/${name} ${usage}`;
}

/** Disk, database, or a mistake of ours: the chat goes on either way. */
export function thrownReply(cause: unknown): CommandReply {
  const message = redactSecrets(describeCause(cause));
  if (cause instanceof HermesError)
    return failed(cause.code, message, ...(cause.hint === undefined ? [] : [redactSecrets(cause.hint)]));
  if (errnoCode(cause) !== undefined)
    return failed("io", message, "'hermes doctor' checks disk and permissions.");
  return failed("internal", `The command failed: ${message}`);
}
