// GitHub Copilot CLI: one event log per session below ~/.copilot/session-state.
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import { format } from "../declare.ts";
import { copilotEvents } from "../kit/copilot-events.ts";
import { recordOf, textOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";

/** Folders of a session that hold copies of files and no conversation. */
const OTHER_FOLDERS: ReadonlySet<string> = new Set(["checkpoints", "files", "research", "node_modules"]);

export const copilotCli = format({
  source: "copilot-cli",
  title: "GitHub Copilot CLI",
  evidence: "S",
  version: 2,
  roots: ({ home, env }) => [join(textOf(env.COPILOT_HOME) ?? join(home, ".copilot"), "session-state")],
  units: async function* (root, walking) {
    const folder = (path: string): boolean => !OTHER_FOLDERS.has(basename(path));
    const file = (path: string): boolean => path.endsWith(".jsonl");
    for await (const path of filesBelow(root, { file, folder, maxDepth: 3 }, walking))
      if (basename(path) === "events.jsonl" || isFlat(path, root))
        yield { path, stamps: [path, join(dirname(path), "workspace.yaml")] };
  },
  recognises: ({ first }) => {
    const event = recordOf(first);
    const type = textOf(event?.type) ?? "";
    return recordOf(event?.data) !== undefined && "parentId" in (event ?? {}) && /^\w+\.\w+$/.test(type);
  },
  read: async function* ({ path }, reading) {
    const isFolder = basename(path) === "events.jsonl";
    const nativeId = isFolder ? basename(dirname(path)) : basename(path, ".jsonl");
    const title = isFolder ? await userTitle(dirname(path)) : undefined;
    yield* copilotEvents(path, { nativeId, title }, reading);
  },
});

/** Older versions put the log of a session into session-state itself. Other logs in the folder of a session are not its events. */
function isFlat(path: string, root: string): boolean {
  return path === root || dirname(path) === root || basename(dirname(path)) === "session-state";
}

/** The name that the user gave to the session. */
async function userTitle(folder: string): Promise<string | undefined> {
  try {
    return textOf(recordOf(parse(await readFile(join(folder, "workspace.yaml"), "utf8")))?.name);
  } catch {
    return undefined; // older sessions have none, and a title is not worth the session
  }
}
