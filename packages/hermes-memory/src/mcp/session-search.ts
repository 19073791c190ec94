// The `session_search` tool as this server runs it: on a database that may come, go and be exchanged.
import { existsSync } from "node:fs";
import { sessionSearchSchema, sessionSearchSettings, sessionSearchTool } from "@hermes-memory/core/sessions";
import type { Dependencies } from "./dependencies.ts";

export function isSearchOffered({ memory }: Dependencies): boolean {
  return existsSync(memory.home);
}

/** Without summaries: a client brings its own model, and this server has none. */
export function sessionSearchDescription() {
  return sessionSearchSchema({ summarize: false });
}

/** Without a database the tool itself says so. */
export async function runSessionSearch(args: unknown, deps: Dependencies): Promise<object> {
  const { home, owner } = deps.memory;
  const config = await deps.memory.config(); // it may forbid to look into other profiles
  const settings = { ...sessionSearchSettings(config), summarize: "off" as const };
  return owner.withSessions((store) => sessionSearchTool(store, args, { home, settings }));
}
