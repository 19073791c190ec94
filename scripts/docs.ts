// Writes the generated pages of docs/.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { apiPages } from "./api-reference.ts";
import { commandReference } from "./command-reference.ts";
import { withConfigTable } from "./config-reference.ts";
import { withRouteTable } from "./route-reference.ts";

const docs = resolve(import.meta.dirname, "../docs");
writeFileSync(join(docs, "commands.md"), await commandReference());

const configPage = join(docs, "config.md");
writeFileSync(configPage, withConfigTable(readFileSync(configPage, "utf8")));

const gatewayPage = join(docs, "gateway.md");
writeFileSync(gatewayPage, withRouteTable(readFileSync(gatewayPage, "utf8")));

const api = join(docs, "api");
rmSync(api, { recursive: true, force: true });
mkdirSync(api);
for (const [name, text] of apiPages()) writeFileSync(join(api, name), text);
