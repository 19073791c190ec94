// The servers in a client's config, in whichever format it is written.
import type { Result } from "@hermes-memory/core/lib";
import type { Client, ServerLaunch } from "./clients.ts";
import type { ConfigEdit, EditFailure } from "./config-edit.ts";
import { listJsonServers, removeJsonServer, setJsonServer } from "./json-servers.ts";
import type { NamedLaunch } from "./launch.ts";
import { listTomlServers, removeTomlServer, setTomlServer } from "./toml-servers.ts";

export function listServers(text: string, { format }: Client): Result<readonly NamedLaunch[], EditFailure> {
  return format === "toml" ? listTomlServers(text) : listJsonServers(text);
}

export function setServer(
  text: string,
  { format, namesTransport }: Client,
  name: string,
  launch: ServerLaunch,
): Result<ConfigEdit, EditFailure> {
  if (format === "toml") return setTomlServer(text, name, launch);
  return setJsonServer(text, name, namesTransport ? { type: "stdio", ...launch } : launch);
}

export function removeServer(
  text: string,
  { format }: Client,
  name: string,
): Result<ConfigEdit, EditFailure> {
  return format === "toml" ? removeTomlServer(text, name) : removeJsonServer(text, name);
}
