// Sessions of Kilo: since it is built on opencode, the same tables in a database of its own; before, task folders like those of Roo Code.
import { basename, join } from "node:path";
import { format } from "../declare.ts";
import { vscodeUserFolders } from "../kit/vscode-user.ts";
import type { TranscriptReader } from "../reader.ts";
import { isTaskFile, KILO, readTask, taskUnits } from "./cline-task.ts";
import { readerOf } from "./opencode.ts";

const current: TranscriptReader = readerOf({
  source: "kilo",
  title: "Kilo",
  folder: "kilo",
  database: /^kilo(?:-.+)?\.db$/,
});

const tasks = format({ ...current, keepsEmpty: true, read: readTask });

/** Tasks first: those that Kilo has moved into its database have the same ids there, and the longer version is kept. */
export const kilo: TranscriptReader = {
  ...current,
  version: 2,
  roots: (place) => [
    ...vscodeUserFolders(place).map((user) => join(user, "globalStorage", KILO, "tasks")),
    ...current.roots(place),
  ],
  async *units(root, walking) {
    if (basename(root) !== "kilo") yield* taskUnits(root, walking);
    yield* current.units(root, walking);
  },
  recognises: (sample) => isTaskFile(sample, KILO) || current.recognises(sample),
  // The unit of a task is its folder, that of a session a file.
  read: (unit, reading) => (unit.stamps?.includes(unit.path) ? current : tasks).read(unit, reading),
};
