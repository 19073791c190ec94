// What setup did, for the person and for programs.
import {
  type Availability,
  checkAvailability,
  loadProvider,
  recordAvailability,
  type SetupOutcome,
  type SetupWrite,
} from "@hermes-memory/core/providers";
import type { Cancelled, CommandOutcome, Terminal } from "../../command.ts";
import { printable } from "../../printing.ts";
import type { Dependencies } from "./setup-dependencies.ts";

export type Finished =
  | { readonly kind: "saved"; readonly outcome: SetupOutcome; readonly notes: readonly string[] }
  /** The provider did it all by itself. */
  | { readonly kind: "own"; readonly isActive: boolean }
  /** In the middle of the provider's own questions. What it did before that is its affair. */
  | { readonly kind: "left"; readonly by: Cancelled["by"] };

export type SetupReport = {
  readonly name: string;
  /** Before this setup. */
  readonly wasActive: boolean;
  readonly dependencies: Dependencies;
  readonly finished: Exclude<Finished, { readonly kind: "left" }>;
  readonly availability: Availability;
};

/** Asks a fresh instance, which sees what was saved. */
export async function checkNow(home: string, name: string): Promise<Availability> {
  const loaded = await loadProvider(home, name);
  const availability = loaded.ok
    ? await checkAvailability(loaded.value.provider)
    : { available: false, reason: loaded.error.message };
  recordAvailability(home, name, availability, "setup");
  return availability;
}

export function setupOutcome(report: SetupReport, io: Terminal): CommandOutcome {
  const { name, wasActive, dependencies, finished, availability } = report;
  const isActive = finished.kind === "own" ? finished.isActive : finished.outcome.activated;
  const failed = finished.kind === "own" ? [] : finished.outcome.failed;
  const written = finished.kind === "own" ? [] : finished.outcome.written;
  const unsaved = finished.kind === "own" ? [] : finished.outcome.unsaved;
  return {
    json: {
      success: failed.length === 0,
      provider: name,
      activated: isActive,
      own_setup: finished.kind === "own",
      written,
      failed,
      unsaved,
      packages: { installed: dependencies.installed, missing: dependencies.missing },
      external: dependencies.external,
      available: availability.available,
      ...(availability.reason === undefined ? {} : { reason: availability.reason }),
    },
    lines: [
      ...written.map(lineOf),
      ...(unsaved.length === 0
        ? []
        : [row("not kept", `${unsaved.join(", ")}: the provider has no place for settings`)]),
      activeLine(name, { isActive, wasActive: wasActive && finished.kind === "saved" }, io),
      availabilityLine(availability, io),
    ],
    notes: [
      ...(finished.kind === "own" ? [] : finished.notes),
      ...failed.map(({ message }) => `${io.paint("red", "error:")} ${printable(message)}`),
      ...(failed.length === 0 || written.length === 0
        ? []
        : ["What was saved stays saved; run the setup again for the rest."]),
      ...(finished.kind === "own" && !isActive
        ? [`Its own setup did not switch it on. To do that: hermes config set memory.provider ${name}`]
        : []),
    ],
    exitCode: failed.length === 0 ? 0 : 1,
  };
}

function activeLine(
  name: string,
  { isActive, wasActive }: { readonly isActive: boolean; readonly wasActive: boolean },
  io: Terminal,
): string {
  if (isActive)
    return io.paint("green", `'${name}' is the memory provider of every session that starts from now on.`);
  if (wasActive) return io.paint("yellow", `'${name}' was the memory provider before and still is.`);
  return io.paint("yellow", `'${name}' is not switched on.`);
}

function availabilityLine({ available, reason }: Availability, io: Terminal): string {
  if (available) return "It is available. 'hermes memory test' tries it out.";
  return `${io.paint("yellow", "It is not available yet.")} ${printable(reason ?? "It gives no reason.")}`;
}

function lineOf(write: SetupWrite): string {
  switch (write.step) {
    case "settings":
      return row("settings", `${write.keys.join(", ")}: kept by the provider`);
    case "secrets":
      return row("secrets", `${write.variables.join(", ")} in ${write.path}`);
    case "activation":
      return row("config", `memory.provider in ${write.path}`);
    default:
      return write satisfies never;
  }
}

function row(name: string, text: string): string {
  return `${name.padEnd(9)} ${printable(text)}`;
}
