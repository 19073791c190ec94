// The config file of a client on disk: read whole, replaced whole, kept in a backup. It belongs to another program.
import { isUtf8 } from "node:buffer";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  describeCause,
  errnoCode,
  HermesError,
  resolveLinks,
  systemClock,
  writeFileAtomic,
} from "@hermes-memory/core/lib";

/** Undefined when there is no such file. */
export function readClientConfig(path: string): string | undefined {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return undefined;
    const message = `Cannot read ${path}: ${describeCause(cause)}. Nothing was changed.`;
    throw new HermesError("client-config", message, { hint: "Check its owner and mode.", cause });
  }
  if (!isUtf8(bytes)) {
    const message = `${path} is not valid UTF-8 text. Nothing was changed.`;
    throw new HermesError("client-config", message, { hint: "Save it as UTF-8, then try again." });
  }
  return Buffer.from(bytes).toString("utf8");
}

/**
 * The mode as `444` when the owner may not write the file. A replacement only needs a writable folder, so somebody who protected the
 * file has to be asked first.
 */
export function protectedMode(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || (stats.mode & 0o200) !== 0) return undefined;
  return (stats.mode & 0o777).toString(8).padStart(3, "0");
}

/** Returns the backup, when there was something to back up. Links are followed; modes are kept. */
export function replaceClientConfig(
  path: string,
  before: string | undefined,
  next: string,
): string | undefined {
  try {
    mkdirSync(dirname(resolveLinks(path)), { recursive: true, mode: 0o700 });
    const backup = before === undefined ? undefined : backUp(path, before);
    writeFileAtomic(path, next, {
      beforeReplace: () => {
        // Running clients write to their files as well; what they wrote since must not be lost.
        if (readClientConfig(path) === before) return;
        throw new HermesError(
          "client-config",
          `${path} changed while it was being edited. Nothing was changed.`,
          {
            hint: "Close the program it belongs to, or just try again.",
          },
        );
      },
    });
    return backup;
  } catch (cause) {
    if (cause instanceof HermesError) throw cause;
    const message = `Cannot write ${path}: ${describeCause(cause)}. Nothing was changed.`;
    throw new HermesError("client-config", message, { hint: "Check free space and permissions.", cause });
  }
}

/** Beside the name the user knows, not beside what it links to: such a file may hold keys, and the other place be shared. */
function backUp(path: string, text: string): string {
  let seconds = Math.floor(systemClock.now().getTime() / 1000);
  while (existsSync(`${path}.bak.${seconds}`)) seconds += 1;
  const backup = `${path}.bak.${seconds}`;
  writeFileAtomic(backup, text, { forceMode: 0o600 });
  return backup;
}
