// Entries of ours whose program has moved since `hermes mcp install` wrote them.
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { ok, type Result } from "@hermes-memory/core/lib";
import { readClientConfig } from "./client-config.ts";
import { type Client, DEFAULT_SERVER_NAME, type Environment } from "./clients.ts";
import type { EditFailure, WordChange } from "./config-edit.ts";
import type { NamedLaunch, Program } from "./launch.ts";
import { isForwarder, type OwnScript, ownScript } from "./own-script.ts";
import { listServers, replaceWords } from "./servers.ts";

export type OwnEntry = NamedLaunch & {
  /** Undefined when it cannot be judged: the entry has an obstacle. */
  readonly script: OwnScript | undefined;
};

/** The config of a client, and which of its servers are ours. */
export type OwnEntries = {
  readonly client: Client;
  readonly path: string;
  readonly text: string;
  readonly entries: Result<readonly OwnEntry[], EditFailure>;
};

/** Undefined when the client has no config. Throws a `HermesError` for a file that cannot be read. */
export function ownEntries(client: Client, env: Environment): OwnEntries | undefined {
  const path = client.configPath(env);
  const text = readClientConfig(path);
  if (text === undefined) return undefined;
  const servers = listServers(text, client);
  return { client, path, text, entries: servers.ok ? ok(servers.value.flatMap(ownEntry)) : servers };
}

function ownEntry(entry: NamedLaunch): OwnEntry[] {
  const script = ownScript(entry);
  if (entry.obstacle === undefined) return script ? [{ ...entry, script }] : [];
  return script || entry.name === DEFAULT_SERVER_NAME ? [{ ...entry, script: undefined }] : [];
}

export type Moved = {
  readonly path: string;
  readonly why: "missing" | "outdated";
  readonly isCommandGone: boolean;
  readonly isScriptGone: boolean;
};

/** What an entry starts and is no longer there. */
export function movedIn({ command, script }: OwnEntry): Moved | undefined {
  if (script === undefined) return undefined;
  const isCommandGone = script.at !== undefined && isAbsolute(command) && !existsSync(command);
  const isMissing = !existsSync(script.path);
  const isScriptGone = isMissing || isForwarder(script.path);
  if (!isCommandGone && !isScriptGone) return undefined;
  const why = isCommandGone || isMissing ? "missing" : "outdated";
  return { path: isCommandGone ? command : script.path, why, isCommandGone, isScriptGone };
}

/** The text with the moved paths of one entry replaced by this program, or undefined when they cannot be replaced alone. */
export function withMoved(
  text: string,
  client: Client,
  entry: OwnEntry,
  { node, script: ours }: Program,
): string | undefined {
  const { script } = entry;
  const moved = movedIn(entry);
  if (script === undefined || moved === undefined) return undefined;
  const change: WordChange =
    script.at === undefined
      ? { command: node, arg: { at: 0, word: ours, isNew: true } }
      : {
          ...(moved.isCommandGone && { command: node }),
          ...(moved.isScriptGone && { arg: { at: script.at, word: ours, isNew: false } }),
        };
  return replaceWords(text, client, entry, change);
}
