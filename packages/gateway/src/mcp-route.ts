// `/mcp`: the MCP server over streamable HTTP, for the caller's own memory. An admin token without a named user gets what `hermes mcp` on
// the command line serves: the owner's memory, and the sessions of all users.
import { isRecord, outsideJsonOr } from "@hermes-memory/core/internal/lib";
import type { Person } from "@hermes-memory/core/internal/memory";
import { answerMcp, providerMirror } from "@hermes-memory/mcp/internal";
import { seesAll } from "./identity.ts";
import type { Gateway, Route, RouteRequest } from "./types.ts";

/** Long enough for a provider that answers slowly; the writes themselves are on disk by then. */
const DRAIN_MS = 10_000;

export function createMcpMode(gateway: Gateway) {
  // Not kept for each user who ever called: only as long as somebody else keeps the person.
  const mirrors = new WeakMap<Person, ReturnType<typeof providerMirror>>();
  const running = new Set<Promise<void>>();
  const mirrorOf = (person: Person): ReturnType<typeof providerMirror> => {
    const known = mirrors.get(person) ?? providerMirror(person, gateway.log);
    mirrors.set(person, known);
    const push: typeof known.push = (writes) => {
      known.push(writes);
      const told: Promise<void> = known.drained(DRAIN_MS).finally(() => running.delete(told));
      running.add(told);
    };
    return { ...known, push };
  };
  const handle = async (request: RouteRequest): Promise<Response> => {
    const { memory, user, profile } = await request.person();
    const isForAll = seesAll(request.caller, user);
    const person = isForAll ? gateway.memory(profile).administration.administrator : memory.layers;
    const { method, headers, url } = request;
    const body = await request.json();
    const answer = await answerMcp(new Request(url, { method, headers }), body, {
      person,
      log: gateway.log,
      client: "gateway",
      mirror: mirrorOf(person),
    });
    return user === undefined ? answer : withoutPaths(answer, person.memory.home);
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
    ] satisfies readonly Route[],
    async close() {
      await Promise.all(running);
    },
  };
}

/** What went wrong may name files of the server, which are no business of its users. Texts that are no failure stay as they are. */
async function withoutPaths(answer: Response, home: string): Promise<Response> {
  const text = await answer.text();
  const said = outsideJsonOr(text, undefined);
  const isFailure =
    isRecord(said) && (said.error !== undefined || (isRecord(said.result) && said.result.isError === true));
  // Two times as JSON: the answer of a tool is JSON inside of JSON.
  const paths = [inJson(inJson(home)), inJson(home)];
  const shown = isFailure ? paths.reduce((now, path) => now.replaceAll(path, "(home)"), text) : text;
  const { status, headers } = answer;
  return new Response(text === "" ? null : shown, { status, headers });
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
