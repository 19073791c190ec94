// The table of all routes: `opsRoutes` and those of `openParts`. The isolation tests are generated from it.
import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { VERSION } from "@hermes-memory/core/internal/version";
import type { MetricsRegistry } from "./metrics.ts";
import type { Gateway, Route } from "./types.ts";

/** The server's own figures, which only these routes need. */
export type OpsParts = { readonly metrics: Pick<MetricsRegistry, "render"> };

/** A part of the server that has state besides its routes, such as live agents. */
export type Part = { readonly routes: readonly Route[]; close(): Promise<void> };

/**
 * All routes but those of `opsRoutes`. They need SDKs that take a while to load, so the server answers before they are there.
 * `close` is called when no request runs any more, before the homes are closed.
 */
export async function openParts(gateway: Gateway, ops: readonly Route[]): Promise<Part> {
  const [{ apiRoutes }, { createMcpMode }] = await Promise.all([
    import("./api/api-routes.ts"),
    import("./mcp-route.ts"),
  ]);
  const parts: readonly Part[] = [
    // The slot for the model routes of answer.ts, with the modes and their live agents.
    { routes: apiRoutes(), close: async () => {} },
    createMcpMode(gateway),
  ];
  const routes = parts.flatMap((part) => part.routes);
  return {
    routes: [...routes, ...discoveryRoutes(() => [...ops, ...routes])],
    async close() {
      await Promise.allSettled(parts.map((part) => part.close()));
    },
  };
}

/** For those who run the server. None of them needs more than Node. */
export function opsRoutes({ metrics }: OpsParts): readonly Route[] {
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
      access: "any-caller",
      shape: "plain",
      summary: "Figures for Prometheus.",
      handle: async () =>
        new Response(metrics.render(), {
          headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
        }),
    },
  ];
}

/** What clients ask before they send a request: which models there are, and what this server can do. */
function discoveryRoutes(others: () => readonly Route[]): readonly Route[] {
  const route = (path: string, summary: string, handle: Route["handle"]): Route => ({
    method: "GET",
    path,
    access: "any-caller",
    shape: "chat",
    summary,
    handle,
  });
  return ["/v1", "/agent/v1", "/proxy/v1"].flatMap((prefix) => [
    route(`${prefix}/models`, "The models that a request may name.", async ({ headers }, gateway) =>
      Response.json(modelList(await configuredModel(gateway), headers.has("anthropic-version"))),
    ),
    route(`${prefix}/capabilities`, "What this server can do.", async (_request, gateway) =>
      Response.json(await capabilities(gateway, others())),
    ),
  ]);
}

type ListedModel = { readonly model: string; readonly provider: string };

/** Also one whose key is missing: a client may bring its own. */
async function configuredModel(gateway: Gateway): Promise<ListedModel | undefined> {
  const { chooseModel } = await import("@hermes-memory/agent/internal/models");
  const sources = { env: gateway.env, config: await gateway.config() };
  const chosen = chooseModel({ ...sources, flags: {} });
  const anyway = chosen.ok ? chosen : chooseModel({ ...sources, flags: { apiKey: "none" } });
  return anyway.ok ? { model: anyway.value.model, provider: anyway.value.provider } : undefined;
}

/** In OpenAI's shape, or in Anthropic's for its clients. */
function modelList(listed: ListedModel | undefined, isAnthropic: boolean): object {
  const ids = listed === undefined ? [] : [listed.model];
  if (isAnthropic)
    return {
      data: ids.map((id) => ({ type: "model", id, display_name: id, created_at: "1970-01-01T00:00:00Z" })),
      has_more: false,
      first_id: ids[0] ?? null,
      last_id: ids.at(-1) ?? null,
    };
  return {
    object: "list",
    data: ids.map((id) => ({ id, object: "model", created: 0, owned_by: listed?.provider })),
  };
}

/** The fields that clients of Hermes Agent's API server know. */
async function capabilities(gateway: Gateway, routes: readonly Route[]): Promise<object> {
  const { mode, proxyTools, recall } = (await gateway.config()).gateway;
  const has = (path: string): boolean => routes.some((route) => route.path === path);
  return {
    object: "hermes.api_server.capabilities",
    platform: "hermes-memory",
    version: VERSION,
    model: (await configuredModel(gateway))?.model ?? null,
    auth: { type: "bearer", headers: ["authorization", "x-api-key", "x-hermes-token"] },
    runtime: { mode, prefixes: { agent: "/agent/v1", proxy: "/proxy/v1" }, recall, proxy_tools: proxyTools },
    features: {
      chat_completions: has("/v1/chat/completions"),
      chat_completions_streaming: has("/v1/chat/completions"),
      responses_api: has("/v1/responses"),
      responses_streaming: has("/v1/responses"),
      messages_api: has("/v1/messages"),
      count_tokens: has("/v1/messages/count_tokens"),
      session_id_header: "X-Hermes-Session-Id",
      session_key_header: "X-Hermes-Session-Key",
      mcp: has("/mcp"),
    },
    endpoints: routes.map(({ method, path, summary }) => ({ method, path, summary })),
  };
}

const WELCOME = `This is the gateway of hermes-memory.

OpenAI clients:     base URL  {url}/v1
Anthropic clients:  base URL  {url}

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
