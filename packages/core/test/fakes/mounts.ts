// File systems with a fault, mounted where only one child process sees them.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type Child, startChild } from "./child.ts";
import type { MemoryCall } from "./memory-calls.ts";

/** Why mounts cannot be tested here; undefined when they can. */
export const whyNoMounts: string | undefined =
  spawnSync("unshare", ["-m", "sh", "-c", "mount -t tmpfs tmpfs /tmp"]).status === 0
    ? undefined
    : "this system does not let tests mount file systems (needs Linux, root and unshare)";

/** Runs `set-up` (shell), then the command, in a mount namespace of their own. `$1`, `$2`, ... are `values`. */
export function startMounted(setUp: string, values: readonly string[], command: readonly string[]): Child {
  const script = `set -e; ${setUp}; shift ${values.length}; exec "$@"`;
  return startChild("unshare", ["-m", "sh", "-c", script, "sh", ...values, ...command]);
}

/** The outcomes of some calls, made by a process that sees the mounts. */
export async function callMounted(
  setUp: string,
  values: readonly string[],
  store: { readonly dir: string; readonly options?: object },
  calls: readonly MemoryCall[],
): Promise<unknown[]> {
  const script = join(import.meta.dirname, "memory-calls.ts");
  const args = [store.dir, JSON.stringify(store.options ?? {}), JSON.stringify(calls)];
  const lines = await startMounted(setUp, values, [process.execPath, script, ...args]).rest();
  return lines.map((line) => JSON.parse(line) as unknown);
}
