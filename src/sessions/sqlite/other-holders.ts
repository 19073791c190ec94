// Which other processes have a file open, where the system tells (Linux): some work must not be done beside them.
import { readdirSync, statSync } from "node:fs";

/** Process ids. Empty also where it cannot be found out; processes of other users are not seen. */
export function otherHolders(path: string): number[] {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (file === undefined || process.platform !== "linux") return [];
  return names("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) =>
      names(`/proc/${pid}/fd`).some((fd) => {
        const open = statOf(`/proc/${pid}/fd/${fd}`);
        return open?.ino === file.ino && open.dev === file.dev;
      }),
    )
    .map(Number);
}

/** Processes come and go, and some may not be looked into. */
function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function statOf(path: string) {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
