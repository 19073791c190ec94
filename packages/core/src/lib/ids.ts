// Random identifiers.
import { randomUUID } from "node:crypto";

/**
 * `bytes` random bytes (6 at most) in lower-case hex: 4 give the 8-digit ids of pending writes and journal lines.
 * Cut from a UUID, because Node keeps a pool of randomness for those and asks the system each time for anything else.
 */
export function randomHex(bytes: 4 | 6): string {
  const uuid = randomUUID();
  return `${uuid.slice(0, 8)}${uuid.slice(9, 13)}`.slice(0, bytes * 2); // the twelve digits before the version digit
}
