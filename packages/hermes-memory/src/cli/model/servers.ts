// Model servers of this machine: on their usual ports, and where OLLAMA_HOST says that Ollama listens.
import { findLocalServers, isLoopback, type LocalServer, parseBaseUrl } from "@hermes-memory/agent/models";
import type { Environment } from "./resolution.ts";

export type { LocalServer };

export async function localServers(env: Environment): Promise<readonly LocalServer[]> {
  const port = ollamaPort(env);
  return findLocalServers(port === undefined ? {} : { ports: { ollama: [port] } });
}

/** Ollama's own variable. One that names another machine is not about this one. */
function ollamaPort(env: Environment): number | undefined {
  const url = parseBaseUrl(env.OLLAMA_HOST ?? "");
  return url === undefined || !isLoopback(url) || url.port === "" ? undefined : Number(url.port);
}
