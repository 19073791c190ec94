// Which processes have a file open, where the system tells (Linux): some work must not be done beside them.
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { isRawDescriptor } from "./journal-mode.ts";

export type Holder = { readonly pid: number; readonly name: string };

/**
 * This process included. Undefined where it cannot be found out. Processes of other users are not seen: a file of mode
 * 0600 is not theirs to open.
 */
export function holdersOf(path: string): readonly Holder[] | undefined {
  if (process.platform !== "linux") return undefined;
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (file === undefined) return [];
  const isFile = (link: string): boolean => {
    try {
      // Sockets and devices are no databases; looking at them costs time.
      if (!/^\/(?!dev\/|proc\/|sys\/)/.test(readlinkSync(link))) return false;
      const { dev, ino } = statSync(link, { bigint: true });
      return dev === file.dev && ino === file.ino;
    } catch {
      return false; // closed meanwhile
    }
  };
  return names("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) =>
      names(`/proc/${pid}/fd`).some(
        (fd) => !(pid === process.pid && isRawDescriptor(Number(fd))) && isFile(`/proc/${pid}/fd/${fd}`),
      ),
    )
    .map((pid) => ({ pid, name: nameOf(pid) }));
}

/** Without this process. Empty also where it cannot be found out. */
export function otherHolders(path: string): readonly Holder[] {
  return (holdersOf(path) ?? []).filter(({ pid }) => pid !== process.pid);
}

/** Processes come and go, and some may not be looked into. */
function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "unknown";
  }
}
