// Random identifiers.
import { randomBytes } from "node:crypto";

/** `bytes` random bytes in lower-case hex: 4 give the 8-digit ids of pending writes and journal lines. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}
