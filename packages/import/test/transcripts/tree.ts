// What a folder holds, to compare it before and after a command.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Every file below a folder, with its size and a hash of its content. */
export function treeOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  return Object.fromEntries(
    files
      .map((name) => [name.replaceAll("\\", "/"), join(folder, name)] as const)
      .filter(([, path]) => statSync(path).isFile())
      .map(([name, path]) => [name, createHash("sha256").update(readFileSync(path)).digest("hex")]),
  );
}
