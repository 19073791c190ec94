// Products that name a folder after a project's path, with every character other than letters and digits replaced by `-`.
import { readdir } from "node:fs/promises";
import { join } from "node:path";

/**
 * The folder below `base` whose encoded path is `name`. Undefined if none exists, or more than one: `a-b` may stand for `a/b` and for
 * `a-b`.
 */
export async function folderEncodedAs(
  name: string,
  { base = "/" }: { base?: string } = {},
): Promise<string | undefined> {
  const found: string[] = [];
  await search(base, name.replace(/^-/, ""));
  return found.length === 1 ? found[0] : undefined;

  async function search(folder: string, rest: string): Promise<void> {
    // What cannot be listed cannot be told apart from what is not there.
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (found.length > 1) return;
      if (!entry.isDirectory()) continue;
      const one = entry.name;
      const part = one.replaceAll(/[^A-Za-z0-9]/g, "-");
      if (part === rest) found.push(join(folder, one));
      else if (rest.startsWith(`${part}-`)) await search(join(folder, one), rest.slice(part.length + 1));
    }
  }
}
