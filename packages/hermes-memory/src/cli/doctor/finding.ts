// Input and findings of the checks of `hermes doctor`. A finding names files and numbers, never stored text.
import type { MemoryConfig } from "@hermes-memory/core/internal/config";
import { describeCause } from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";
import type { Terminal } from "../command.ts";

/** Paths are absolute. */
export type CheckedHome = {
  readonly memory: Home;
  readonly home: string;
  readonly root: string;
  readonly config: MemoryConfig;
  readonly env: Terminal["env"];
};

export type Finding = {
  readonly check: string;
  readonly status: "ok" | "warn" | "fail";
  readonly message: string;
  readonly remedy?: string;
};

export function fine(check: string, message: string): Finding {
  return { check, status: "ok", message };
}

export function warn(check: string, message: string, remedy: string): Finding {
  return { check, status: "warn", message, remedy };
}

export function fail(check: string, message: string, remedy: string): Finding {
  return { check, status: "fail", message, remedy };
}

/** A check that throws becomes a failed finding, and the other checks still run. */
export async function guarded(
  check: string,
  run: () => Promise<readonly Finding[]> | readonly Finding[],
): Promise<readonly Finding[]> {
  try {
    return await run();
  } catch (cause) {
    const remedy = "Check owner and permissions of the home and what is in it.";
    return [fail(check, `This could not be checked: ${describeCause(cause)}.`, remedy)];
  }
}

/** A path that can be pasted into a shell. */
export function quoted(path: string): string {
  return /^[\w./:@+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
