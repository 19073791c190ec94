// The table of all routes: `opsRoutes` and `openRoutes`. A route that is not here does not exist: the isolation tests are generated from it.
import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Modes } from "./answer.ts";
import type { MetricsRegistry } from "./metrics.ts";
import type { Answer, Gateway, Route } from "./types.ts";

/** `close` is called when no request runs any more, before the homes are closed. */
export type ServedRoutes = { readonly routes: readonly Route[]; close(): Promise<void> };

/** All routes but those of `opsRoutes`. They bring SDKs that take a while to load, so the server listens before they are there. */
export async function openRoutes(gateway: Gateway): Promise<ServedRoutes> {
  const [{ modelRoutes }, { apiRoutes }, { createMcpMode }, { modelsRoutes }] = await Promise.all([
    import("./answer.ts"),
    import("./api/api-routes.ts"),
    import("./mcp-route.ts"),
    import("./models-route.ts"),
  ]);
  const [modes, mcp] = [lazyModes(gateway), createMcpMode(gateway)];
  modes.load();
  return {
    routes: [...modelRoutes(modes), ...modelsRoutes, ...apiRoutes(), ...mcp.routes],
    async close() {
      await Promise.allSettled([modes.close(), mcp.close()]);
    },
  };
}

// ---- The two modes, loaded later: they bring the model SDKs, and the first request is seldom that early ----

/** `close` interrupts running turns, which store what they have. */
type Parts = Modes & { close(): Promise<void> };

/** `load` begins to load them, and with the agent mode the watcher of expired sessions. Never rejects. */
type LoadedModes = Parts & { load(): void };

function lazyModes(gateway: Gateway): LoadedModes {
  let parts: Promise<Parts> | undefined;
  const loaded = (): Promise<Parts> => {
    parts ??= open(gateway);
    return parts;
  };
  const answer =
    (mode: keyof Modes): Answer =>
    async (turn) =>
      (await loaded())[mode](turn);
  return {
    agent: answer("agent"),
    proxy: answer("proxy"),
    auxiliary: answer("auxiliary"),
    countTokens: answer("countTokens"),
    load: () =>
      void loaded().catch((cause: unknown) => gateway.log.error("A mode cannot be loaded", { cause })),
    close: async () => {
      if (parts !== undefined) await (await parts).close();
    },
  };
}

async function open(gateway: Gateway): Promise<Parts> {
  const [{ AgentMode }, { createProxyMode }] = await Promise.all([
    import("./agent-mode/agent-mode.ts"),
    import("./proxy/answer-as-proxy.ts"),
  ]);
  const [agent, proxy] = [new AgentMode(gateway), createProxyMode(gateway)];
  return {
    agent: agent.answer,
    proxy: proxy.answer,
    auxiliary: proxy.answerAuxiliary,
    countTokens: proxy.countTokens,
    close: async () => {
      proxy.close();
      await agent.close();
    },
  };
}

// ---- For those who run the server: none of them needs more than Node ----

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
