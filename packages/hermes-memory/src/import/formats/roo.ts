// Roo Code: task folders in the global storage of the extension, in every editor of the VS Code family.
import { join } from "node:path";
import { vscodeUserFolders } from "../kit/vscode-user.ts";
import type { TranscriptReader } from "../reader.ts";
import { isTaskFile, ROO, readTask, taskUnits } from "./cline-task.ts";

export const roo: TranscriptReader = {
  source: "roo",
  title: "Roo Code",
  evidence: "S",
  version: 2,
  roots: (place) => vscodeUserFolders(place).map((user) => join(user, "globalStorage", ROO, "tasks")),
  units: (root, walking) => taskUnits(root, walking),
  recognises: (sample) => isTaskFile(sample, ROO),
  read: readTask,
};
