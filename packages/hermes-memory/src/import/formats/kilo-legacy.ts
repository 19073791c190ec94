// Kilo Code before it had a database: task folders like those of Roo Code, which it was made from.
import { join } from "node:path";
import { vscodeUserFolders } from "../kit/vscode-user.ts";
import type { TranscriptReader } from "../reader.ts";
import { isTaskFile, KILO, readTask, taskUnits } from "./cline-task.ts";

export const kiloLegacy: TranscriptReader = {
  source: "kilo-legacy",
  title: "Kilo Code (older task folders)",
  evidence: "S",
  version: 1,
  roots: (place) => vscodeUserFolders(place).map((user) => join(user, "globalStorage", KILO, "tasks")),
  units: (root, walking) => taskUnits(root, walking),
  recognises: (sample) => isTaskFile(sample, KILO),
  read: readTask,
};
