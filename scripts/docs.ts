// Writes the generated pages of docs/.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { commandReference } from "./command-reference.ts";
import { withConfigTable } from "./config-reference.ts";

const docs = resolve(import.meta.dirname, "../docs");
writeFileSync(join(docs, "commands.md"), await commandReference());

const configPage = join(docs, "config.md");
writeFileSync(configPage, withConfigTable(readFileSync(configPage, "utf8")));
