// How a failed command ends: text or JSON, an exit code, and a line in the log unless the user caused it.
import { existsSync } from "node:fs";
import { logPath } from "@hermes-memory/core/internal/home";
import { errnoCode, HermesError } from "@hermes-memory/core/internal/lib";
import { ConfigFailure } from "@hermes-memory/core/internal/memory";
import { CommanderError } from "commander";
import { Cancelled, CommandFailure, type Terminal } from "./command.ts";
import { printable } from "./printing.ts";

const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

/** The only place that turns an error into text and an exit code. */
export function renderFailure(cause: unknown, isJson: boolean, io: Terminal): number {
  if (cause instanceof CommanderError) {
    if (cause.exitCode !== 0 && isJson)
      printFailure(cause.message.replace(/^error: /, ""), { kind: "usage" }, io);
    return cause.exitCode === 0 ? 0 : EXIT_USAGE; // commander has printed the text
  }
  if (cause instanceof Cancelled) {
    const kind = cause.by === "interrupt" ? "interrupted" : "cancelled";
    if (isJson) io.out(`${JSON.stringify({ success: false, kind }, null, 2)}\n`);
    else io.note(`${cause.message}\n`);
    return cause.by === "interrupt" ? EXIT_INTERRUPTED : 1;
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  const { hint, details } = detailsOf(cause);
  if (isJson) {
    printFailure(message, { ...details, hint: hint ?? details.hint }, io);
  } else {
    io.note(`${io.paint("red", "error:")} ${printable(message)}\n`); // it may quote stored text
    if (hint !== undefined) io.note(`${printable(hint)}\n`);
    if (cause instanceof Error && io.env.HERMES_DEBUG) io.note(`${cause.stack}\n`);
  }
  return cause instanceof CommandFailure ? cause.exitCode : 1;
}

function printFailure(message: string, details: Readonly<Record<string, unknown>>, io: Terminal): void {
  io.out(`${JSON.stringify({ success: false, error: message, ...details }, null, 2)}\n`);
}

function detailsOf(cause: unknown): { hint: string | undefined; details: Readonly<Record<string, unknown>> } {
  if (cause instanceof CommandFailure) return { hint: cause.hint, details: cause.details };
  if (cause instanceof ConfigFailure) {
    const { kind, path, issues } = cause.problem;
    return { hint: cause.hint, details: { kind, path, issues } };
  }
  if (cause instanceof HermesError) return { hint: cause.hint, details: { kind: cause.code } };
  if (errnoCode(cause) !== undefined)
    return { hint: "'hermes doctor' checks disk and permissions.", details: { kind: "io" } };
  return {
    hint: "This should not happen. The log in the home has the details; HERMES_DEBUG=1 prints them here.",
    details: { kind: "internal" },
  };
}

/** Logs broken disks and bugs, not refused writes or wrong flags. Does not create the home. */
export async function logFailure(cause: unknown, home: string): Promise<void> {
  const isExpected = [Cancelled, CommandFailure, ConfigFailure, CommanderError].some(
    (kind) => cause instanceof kind,
  );
  if (isExpected || !existsSync(home)) return;
  const [{ createLogger }, { redactSecrets }] = await Promise.all([
    import("@hermes-memory/core/internal/logger"),
    import("@hermes-memory/core/internal/security"),
  ]);
  const message = cause instanceof Error ? cause.message : String(cause);
  createLogger({ path: logPath(home), redact: redactSecrets }).error(message, { cause });
}
