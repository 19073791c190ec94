// Entries of ours whose program has moved since `hermes mcp install` wrote them.
import { existsSync, readFileSync } from "node:fs";
import { basename, isAbsolute } from "node:path";
import { ok, type Result } from "@hermes-memory/core/lib";
import { readClientConfig, replaceClientConfig } from "./client-config.ts";
import type { Client, Environment, ServerLaunch } from "./clients.ts";
import type { EditFailure } from "./config-edit.ts";
import { isHermes, isOurs, type NamedLaunch, type Program } from "./launch.ts";
import { listServers, setServer } from "./servers.ts";

/** The config of a client, and which of its servers are ours. */
export type OwnEntries = {
  readonly client: Client;
  readonly path: string;
  readonly text: string;
  readonly entries: Result<readonly NamedLaunch[], EditFailure>;
};

/** Undefined when the client has no config. Throws a `HermesError` for a file that cannot be read. */
export function ownEntries(client: Client, env: Environment): OwnEntries | undefined {
  const path = client.configPath(env);
  const text = readClientConfig(path);
  if (text === undefined) return undefined;
  const servers = listServers(text, client);
  const entries = servers.ok ? ok(servers.value.filter((each) => isOurs(each.name, each))) : servers;
  return { client, path, text, entries };
}

export type Moved = { readonly path: string; readonly why: "missing" | "outdated" };

/**
 * What an entry starts and is no longer there. Judges the form that `hermes mcp install` writes, Node with a script, and a script that
 * is the command itself; paths behind any other command may be those of a container or of another machine.
 */
export function movedIn({ command, args }: ServerLaunch): Moved | undefined {
  const script = isHermes(command) ? command : args.find(isHermes);
  if (script === undefined || !isAbsolute(script)) return undefined;
  if (script !== command && !/^node/i.test(basename(command.replaceAll("\\", "/")))) return undefined;
  const missing = [command, script].find((path) => isAbsolute(path) && !existsSync(path));
  if (missing !== undefined) return { path: missing, why: "missing" };
  return isForwarder(script) ? { path: script, why: "outdated" } : undefined;
}

/** All moved entries of one file in one write, after a backup. Their profile, home and other arguments stay. */
export function rewriteMoved(
  { client, path, text }: OwnEntries,
  moved: readonly NamedLaunch[],
  program: Program,
): Result<{ readonly backup: string | undefined }, EditFailure> {
  let next = text;
  for (const entry of moved) {
    const edited = setServer(next, client, entry.name, startedBy(program, entry));
    if (!edited.ok) return edited;
    next = edited.value.text;
  }
  return ok({ backup: replaceClientConfig(path, text, next) });
}

function startedBy({ node, script }: Program, { command, args, env }: ServerLaunch): ServerLaunch {
  if (isHermes(command)) return { command: node, args: [script, ...args], env };
  const at = args.findIndex(isHermes);
  return { command: node, args: args.map((word, index) => (index === at ? script : word)), env };
}

/** As scripts/build.ts puts it where the launcher was before version 0.3.0. */
function isForwarder(path: string): boolean {
  if (!path.endsWith("hermes.js")) return false;
  return readFileSync(path, "utf8").split("\n", 2)[1]?.startsWith("// hermes-memory: moved.") ?? false;
}
