// The table of all routes: `opsRoutes` and `openRoutes`. A route that is not here does not exist: the isolation tests are generated from it.
import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { AgentMode } from "./agent-mode/agent-mode.ts";
import { modelRoutes } from "./answer.ts";
import { apiRoutes } from "./api/api-routes.ts";
import { createMcpMode } from "./mcp-route.ts";
import type { MetricsRegistry } from "./metrics.ts";
import { modelsRoutes } from "./models-route.ts";
import { createProxyMode } from "./proxy/answer-as-proxy.ts";
import type { Gateway, Route } from "./types.ts";

/** `close` is called when no request runs any more, before the homes are closed. */
type ServedRoutes = { readonly routes: readonly Route[]; close(): Promise<void> };

export function openRoutes(gateway: Gateway): ServedRoutes {
  const mcp = createMcpMode(gateway);
  const agent = new AgentMode(gateway);
  const proxy = createProxyMode(gateway);
  const { answer, answerAuxiliary: auxiliary, countTokens } = proxy;
  const modes = { agent: agent.answer, proxy: answer, auxiliary, countTokens };
  return {
    routes: [...modelRoutes(modes), ...modelsRoutes, ...apiRoutes(), ...mcp.routes],
    async close() {
      proxy.close();
      await Promise.allSettled([agent.close(), mcp.close()]); // running turns store what they have
    },
  };
}

// ---- For those who run the server ----

export function opsRoutes(metrics: Pick<MetricsRegistry, "render">): readonly Route[] {
  const ready = readiness();
  return [
    {
      method: "GET",
      path: "/",
      access: "open",
      shape: "plain",
      summary: "Says what this server is.",
      handle: async ({ url }) => text(WELCOME.replaceAll("{url}", url.origin)),
    },
    {
      method: "GET",
      path: "/healthz",
      access: "open",
      shape: "api",
      summary: "Whether the process is up.",
      handle: async () => Response.json({ status: "ok" }),
    },
    {
      method: "GET",
      path: "/readyz",
      access: "open",
      shape: "api",
      summary: "Whether requests can be answered: home, database, not stopping.",
      handle: async (_request, gateway) => {
        const checks = await ready(gateway);
        const isReady = Object.values(checks).every((state) => state === "ok");
        return Response.json(
          { status: isReady ? "ok" : "unavailable", checks },
          { status: isReady ? 200 : 503 },
        );
      },
    },
    {
      method: "GET",
      path: "/metrics",
      access: "admin",
      shape: "plain",
      summary: "Figures for Prometheus.",
      handle: async () =>
        new Response(metrics.render(), {
          headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
        }),
    },
  ];
}

const WELCOME = `This is the gateway of hermes-memory.

OpenAI clients:     base URL  {url}/v1
Anthropic clients:  base URL  {url}
API key:            the token that 'hermes token local' prints on this server's machine

{url}/healthz  is it up    {url}/readyz  can it answer    {url}/metrics  figures
`;

function text(body: string): Response {
  return new Response(body, { headers: { "content-type": "text/plain; charset=utf-8" } });
}

type Checks = Readonly<Record<"server" | "home" | "database" | "config", string>>;

/** Anybody may ask, so an answer is kept for this long. */
const KEPT_MS = 1_000;

function readiness(): (gateway: Gateway) => Promise<Checks> {
  let last: { readonly atMs: number; readonly checks: Promise<Checks> } | undefined;
  return async (gateway) => {
    if (gateway.isStopping) return { server: "stopping", home: "ok", database: "ok", config: "ok" };
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.atMs > KEPT_MS) last = { atMs: nowMs, checks: check(gateway) };
    return last.checks;
  };
}

/** Says what is wrong without naming files or settings: anybody may ask. The log has the reasons. */
async function check(gateway: Gateway): Promise<Checks> {
  return {
    server: "ok",
    home: isWritable(gateway.home) ? "ok" : "the home cannot be written",
    database: await stateOf(gateway, "the session database cannot be opened", async () => {
      const { administrator } = gateway.memory(undefined).administration;
      await administrator.withSessions(async (store) => void (await store?.listSessionIds({ limit: 1 })));
    }),
    config: await stateOf(gateway, "config.yaml has a mistake", async () => {
      await gateway.memory(undefined).administration.config();
    }),
  };
}

async function stateOf(gateway: Gateway, trouble: string, work: () => Promise<void>): Promise<string> {
  try {
    await work();
    return "ok";
  } catch (cause) {
    gateway.log.warn("The gateway is not ready", { trouble, cause });
    return trouble;
  }
}

/** A home that does not exist yet is made with the first write. */
function isWritable(home: string): boolean {
  let path = home;
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
