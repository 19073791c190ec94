// Checks the import rules (`npm run check`): prints every import that breaks one, and then exits with 1.
import { resolve } from "node:path";
import { breaches } from "./architecture/rules.ts";
import { readWorkspace } from "./architecture/workspace.ts";

const found = breaches(readWorkspace(resolve(import.meta.dirname, "..")));
for (const line of found) console.error(line);
if (found.length > 0) process.exitCode = 1;
