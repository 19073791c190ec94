// Edits one entry of `mcpServers` in a JSON config, in the indentation of the file, and leaves every other byte unchanged.
import { isDeepStrictEqual } from "node:util";
import { err, isRecord, ok, type Result } from "@hermes-memory/core/internal/lib";
import type { ServerLaunch } from "./clients.ts";
import type { ConfigEdit, EditFailure, WordRanges } from "./config-edit.ts";
import {
  appendMember,
  indentAt,
  type JsonNode,
  memberOf,
  parseJsonDocument,
  render,
  splice,
  styleOf,
  withoutPart,
} from "./json-document.ts";
import { isOurs, type NamedLaunch, namedLaunch } from "./launch.ts";

const SERVERS = "mcpServers";

type JsonServer = ServerLaunch & { readonly type?: "stdio" };

export function setJsonServer(
  text: string,
  name: string,
  server: JsonServer,
): Result<ConfigEdit, EditFailure> {
  const opened = open(text);
  if (!opened.ok) return opened;
  const { source, root, servers } = opened.value;
  const style = styleOf(source, root);
  if (servers === undefined) {
    const value = { [name]: merged({}, server) };
    return ok({ text: appendMember(source, root, SERVERS, value, style), action: "added" });
  }
  const found = memberOf(servers, name);
  if (found === undefined)
    return ok({ text: appendMember(source, servers, name, merged({}, server), style), action: "added" });
  const present: unknown = JSON.parse(source.slice(found.value.start, found.value.end));
  if (!isRecord(present) || !isOurs(name, present)) return err({ kind: "foreign" });
  const next = merged(present, server);
  if (isDeepStrictEqual(next, present)) return ok({ text, action: "unchanged" });
  const rendered = render(next, style, indentAt(source, found.start));
  return ok({ text: splice(source, found.value.start, found.value.end, rendered), action: "updated" });
}

export function removeJsonServer(text: string, name: string): Result<ConfigEdit, EditFailure> {
  const opened = open(text);
  if (!opened.ok) return opened;
  const { source, servers } = opened.value;
  const found = servers && memberOf(servers, name);
  if (!servers?.members || !found) return ok({ text, action: "absent" });
  const present: unknown = JSON.parse(source.slice(found.value.start, found.value.end));
  if (!isRecord(present) || !isOurs(name, present)) return err({ kind: "foreign" });
  const next = withoutPart(source, servers, servers.members.indexOf(found));
  return ok({ text: next, action: "removed" });
}

/** Servers that are local processes. Those at an address have no command. */
export function listJsonServers(text: string): Result<readonly NamedLaunch[], EditFailure> {
  const opened = open(text);
  if (!opened.ok) return opened;
  const { source, servers } = opened.value;
  const names = new Set(servers?.members?.map(({ key }) => key));
  return ok(
    [...names].flatMap((name) => {
      const found = servers && memberOf(servers, name);
      if (!found) return [];
      const entry: unknown = JSON.parse(source.slice(found.value.start, found.value.end));
      return isRecord(entry) ? namedLaunch(name, entry) : [];
    }),
  );
}

/** Undefined when the entry has no `command` or no list of `args`. */
export function jsonWords(text: string, name: string): WordRanges | undefined {
  const opened = open(text);
  const servers = opened.ok ? opened.value.servers : undefined;
  const entry = servers && memberOf(servers, name)?.value;
  const command = entry && memberOf(entry, "command")?.value;
  const list = entry && memberOf(entry, "args")?.value;
  return command && list?.items && { command, list, items: list.items };
}

type Opened = { readonly source: string; readonly root: JsonNode; readonly servers: JsonNode | undefined };

/** An empty file counts as one without servers. */
function open(text: string): Result<Opened, EditFailure> {
  const source = text.trim() === "" ? "{}\n" : text;
  const root = parseJsonDocument(source);
  if (!root.ok) return err({ kind: "syntax", ...root.error });
  if (root.value.members === undefined) return err({ kind: "shape", reason: "it holds no JSON object" });
  const servers = memberOf(root.value, SERVERS)?.value;
  if (servers !== undefined && servers.members === undefined)
    return err({ kind: "shape", reason: `its '${SERVERS}' is not a JSON object` });
  return ok({ source, root: root.value, servers });
}

/** Keeps what the user added to the entry, such as a timeout or an environment variable. */
function merged(present: Readonly<Record<string, unknown>>, server: JsonServer): Record<string, unknown> {
  const { HERMES_HOME: _old, ...others } = isRecord(present.env) ? present.env : {};
  const env = { ...others, ...server.env };
  const hasEnv = Object.keys(env).length > 0 || "env" in present;
  return {
    ...(server.type === undefined || "type" in present ? {} : { type: server.type }), // an existing one keeps its place
    ...present,
    command: server.command,
    args: [...server.args],
    ...(hasEnv ? { env: sortedLike(present.env, env) } : {}),
  };
}

/** Keys keep their order, so that an unchanged entry keeps its text. */
function sortedLike(present: unknown, env: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const known = isRecord(present) ? Object.keys(present).filter((key) => key in env) : [];
  const keys = new Set([...known, ...Object.keys(env)]);
  return Object.fromEntries([...keys].map((key) => [key, env[key]]));
}
