// Child process: opens the home in its first argument, asks for what the others name (`config`, `memoryConfig`, `curated`,
// `sessions`, `skills`, `mirror`), and prints the folders of core's `src` whose code was loaded by then.
import { registerHooks } from "node:module";

const folders = new Set<string>();
registerHooks({
  load(url, context, nextLoad) {
    const [, folder] = /packages\/core\/src\/([^/]+)\//.exec(url) ?? [];
    if (folder !== undefined) folders.add(folder);
    if (/node_modules\/(?:yaml|zod)\//.test(url)) folders.add("yaml or zod");
    return nextLoad(url, context);
  },
});
const { openHome } = await import("../../src/memory/index.ts");
const [home = "", ...asked] = process.argv.slice(2);
const memory = openHome({ home });
for (const name of asked) {
  if (name === "config" || name === "memoryConfig") await memory[name]();
  if (name === "curated" || name === "skills") await memory.administrator[name]();
  if (name === "sessions") await memory.administrator.sessions({ mode: "read" });
  if (name === "mirror")
    await memory.administrator.provider.mirror(
      [{ target: "memory", op: { action: "add", content: "x" }, changeId: "1" }],
      "cli",
    );
}
console.log(JSON.stringify([...folders].sort()));
