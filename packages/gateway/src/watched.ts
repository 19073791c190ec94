// What was read of a file that users and other processes change while the server runs.
import { statSync } from "node:fs";
import { errnoCode } from "@hermes-memory/core/internal/lib";

export type Watched<T> = { current(): T; forget(): void };

/** Read again only when the file has changed, and looked at again after `everyMs` at the earliest. */
export function watched<T>(
  path: string,
  read: () => T,
  { everyMs = 0, nowMs = Date.now }: { readonly everyMs?: number; readonly nowMs?: () => number } = {},
): Watched<T> {
  let known: { readonly version: string; readonly value: T } | undefined;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  return {
    current() {
      const now = nowMs();
      if (known !== undefined && Math.abs(now - checkedAtMs) < everyMs) return known.value;
      checkedAtMs = now;
      const version = versionOf(path);
      if (known?.version !== version) known = { version, value: read() };
      return known.value;
    },
    forget() {
      known = undefined;
    },
  };
}

function versionOf(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch (cause) {
    return errnoCode(cause) ?? "?";
  }
}
