// Roo Code: task folders in the global storage of the extension, in every editor of the VS Code family.
import { join } from "node:path";
import { format } from "../declare.ts";
import { vscodeUserFolders } from "../kit/vscode-user.ts";
import { isTaskFile, ROO, readTask, TASK_RULES, taskUnits } from "./cline-task.ts";

export const roo = format({
  source: "roo",
  title: "Roo Code",
  evidence: "S",
  version: 2,
  ...TASK_RULES,
  roots: (place) => vscodeUserFolders(place).map((user) => join(user, "globalStorage", ROO, "tasks")),
  units: taskUnits,
  recognises: (sample) => isTaskFile(sample, ROO),
  read: readTask,
});
