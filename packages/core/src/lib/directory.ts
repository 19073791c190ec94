// What is in a directory.
import { readdirSync } from "node:fs";
import { errnoCode } from "./errors.ts";

/** The names in it; none when it does not exist. A directory that cannot be read is not an empty one, so that throws. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return [];
    throw cause;
  }
}
