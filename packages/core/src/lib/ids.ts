// Random ids, and SHA-256 as the identity of file contents, entries and backups.
import { hash, randomUUID } from "node:crypto";

/**
 * `bytes` random bytes in lower-case hex: 4 give the 8-digit ids of pending writes and journal lines.
 * Cut from a UUID, because Node generates UUIDs from a pool of random bytes; `randomBytes` makes a system call each time.
 */
export function randomHex(bytes: 4 | 6): string {
  const uuid = randomUUID();
  return `${uuid.slice(0, 8)}${uuid.slice(9, 13)}`.slice(0, bytes * 2); // the twelve digits before the version digit
}

/** In lower-case hex. */
export function sha256(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}
