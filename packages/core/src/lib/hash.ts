// SHA-256 in lower-case hex: identity of file contents, entries and backups.
import { hash } from "node:crypto";

export function sha256(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}
