// The `session_search` tool as this server runs it: on a database that may come, go and be exchanged.
import { existsSync } from "node:fs";
import { loadConfig } from "@hermes-memory/core/config";
import { sessionSearchSchema, sessionSearchSettings, sessionSearchTool } from "@hermes-memory/core/sessions";
import type { Dependencies } from "./dependencies.ts";
import { configError } from "./memory.ts";

export function isSearchOffered({ home }: Pick<Dependencies, "home">): boolean {
  return existsSync(home);
}

/** Without summaries: a client brings its own model, and this server has none. */
export function sessionSearchDescription() {
  return sessionSearchSchema({ summarize: false });
}

/** Without a database the tool itself says so. */
export async function runSessionSearch(args: unknown, deps: Dependencies): Promise<object> {
  const { home, sessions: database } = deps;
  const config = await loadConfig(home);
  if (!config.ok) throw configError(config.error); // it may forbid to look into other profiles
  const settings = { ...sessionSearchSettings(config.value), summarize: "off" as const };
  return database.use((store) => sessionSearchTool(store, args, { home, settings }));
}
