// `/mcp`: the MCP server over streamable HTTP, for the caller's own memory. An admin token without a named user gets what `hermes mcp` on
// the command line serves: the owner's memory, and the sessions of all users.
import type { Person } from "@hermes-memory/core/internal/memory";
import { answerMcp, providerMirror } from "../mcp/index.ts";
import type { Gateway, Route, RouteRequest } from "./types.ts";

/** Long enough for a provider that answers slowly; the writes themselves are on disk by then. */
const DRAIN_MS = 10_000;

export type McpMode = { readonly routes: readonly Route[]; close(): Promise<void> };

export function createMcpMode(gateway: Gateway): McpMode {
  const mirrors = new Map<Person, ReturnType<typeof providerMirror>>();
  const mirrorOf = (person: Person) => {
    const known = mirrors.get(person) ?? providerMirror(person, gateway.log);
    mirrors.set(person, known);
    return known;
  };
  const handle = async (request: RouteRequest): Promise<Response> => {
    const { memory, user, profile } = await request.person();
    const isAdmin = request.caller.kind === "token" && request.caller.rights.kind === "admin";
    const person =
      isAdmin && user === undefined ? gateway.memory(profile).administration.administrator : memory.layers;
    const { method, headers, url } = request;
    const body = await request.json();
    return answerMcp(new Request(url, { method, headers }), body, {
      person,
      log: gateway.log,
      client: "gateway",
      mirror: mirrorOf(person),
    });
  };
  return {
    routes: [
      {
        method: "POST",
        path: "/mcp",
        access: "user",
        summary: "The MCP server over streamable HTTP: memory, search and history of the caller.",
        shape: "api",
        handle,
      },
    ],
    async close() {
      await Promise.all([...mirrors.values()].map((mirror) => mirror.drained(DRAIN_MS)));
    },
  };
}
