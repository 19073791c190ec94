// Checks who imports whom (`npm run check`): names every import that breaks a rule, and exits with 1 if there is one.
import { resolve } from "node:path";
import { breaches } from "./architecture/rules.ts";
import { readWorkspace } from "./architecture/workspace.ts";

const found = breaches(readWorkspace(resolve(import.meta.dirname, "..")));
for (const line of found) console.error(line);
if (found.length > 0) process.exitCode = 1;
