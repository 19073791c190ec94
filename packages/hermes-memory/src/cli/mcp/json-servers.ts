// Edits one entry of `mcpServers` in a JSON config.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { ServerLaunch } from "./clients.ts";
import { type ConfigEdit, EditError, shapeError } from "./config-edit.ts";
import {
  dataOf,
  itemsOf,
  type JsonDocument,
  memberOf,
  type Node,
  openJson,
  withMember,
  withoutPart,
  withValue,
} from "./json.ts";
import { isOurs } from "./launch.ts";

export const JSON_SERVERS = "mcpServers";

type JsonServer = ServerLaunch & { readonly type?: "stdio" };

/** The programs that read these files refuse comments. */
export function openServers(text: string): JsonDocument & { readonly servers: Node | undefined } {
  const document = openJson(text, "json");
  const servers = memberOf(document.root, JSON_SERVERS);
  if (servers && servers.type !== "object") throw shapeError(`its '${JSON_SERVERS}' is not a JSON object`);
  return { ...document, servers };
}

export function setJsonServer(text: string, name: string, server: JsonServer): ConfigEdit {
  const { servers, ...document } = openServers(text);
  if (servers === undefined) {
    const value = { [name]: merged({}, server) };
    return { text: withMember(document, document.root, JSON_SERVERS, value), action: "added" };
  }
  const found = memberOf(servers, name);
  if (found === undefined)
    return { text: withMember(document, servers, name, merged({}, server)), action: "added" };
  const next = withJsonEntry(text, name, merged(ownEntry(name, found), server));
  return { text: next, action: next === text ? "unchanged" : "updated" };
}

export function removeJsonServer(text: string, name: string): ConfigEdit {
  const { servers, ...document } = openServers(text);
  const found = memberOf(servers, name);
  if (!found?.parent) return { text, action: "absent" };
  ownEntry(name, found);
  return { text: withoutPart(document, found.parent), action: "removed" };
}

function ownEntry(name: string, found: Node): Readonly<Record<string, unknown>> {
  const entry = dataOf(found);
  if (!isRecord(entry) || !isOurs(name, entry)) throw new EditError({ kind: "foreign" });
  return entry;
}

/** Only the members whose value differs are written. */
export function withJsonEntry(text: string, name: string, next: Readonly<Record<string, unknown>>): string {
  return Object.entries(next).reduce((now, [key, value]) => {
    const { servers, ...document } = openServers(now);
    const entry = memberOf(servers, name);
    const node = memberOf(entry, key);
    if (!node) return entry ? withMember(document, entry, key, value) : now;
    return withDifference(document, node, value);
  }, text);
}

/** Of a list that keeps its length, only the items that differ. */
function withDifference(document: JsonDocument, node: Node, value: unknown): string {
  const items = itemsOf(node);
  if (isDeepStrictEqual(dataOf(node), value)) return document.text;
  if (!Array.isArray(value) || items.length !== value.length) return withValue(document, node, value);
  return items.reduceRight(
    (text, item, at) => withDifference({ ...document, text }, item, value[at]),
    document.text,
  );
}

/** Keeps what the user added to the entry, such as a timeout or an environment variable. */
function merged(present: Readonly<Record<string, unknown>>, server: JsonServer): Record<string, unknown> {
  const given = isRecord(present.env) ? present.env : {};
  const { HERMES_HOME: _old, ...others } = given;
  const env = { ...(server.env.HERMES_HOME === undefined ? others : given), ...server.env }; // a home keeps its place
  return {
    ...(server.type === undefined || "type" in present ? {} : { type: server.type }),
    ...present,
    command: server.command,
    args: [...server.args],
    ...("env" in present || Object.keys(env).length > 0 ? { env } : {}),
  };
}
