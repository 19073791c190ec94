// Writes the generated pages of docs/.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { commandReference } from "./command-reference.ts";

const docs = resolve(import.meta.dirname, "../docs");
writeFileSync(join(docs, "commands.md"), await commandReference());
