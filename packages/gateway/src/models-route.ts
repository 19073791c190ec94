// Which models can be asked for, and what this server can do: `/v1/models` and `/v1/capabilities`. Nothing is asked of a vendor.
import { chooseModel, knownProviders } from "@hermes-memory/agent/internal/models";
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { withoutUndefined } from "@hermes-memory/core/internal/lib";
import { VERSION } from "@hermes-memory/core/internal/version";
import { mayAsk } from "./allowance.ts";
import { anthropicProblem, openAiProblem } from "./problem.ts";
import type { Gateway, GatewayProblem, JsonObject, Route, RouteRequest } from "./types.ts";

type ServedModel = {
  readonly id: string;
  readonly provider: string;
  readonly contextLength: number | undefined;
};

/** Clients append `/models` to the base URL that they were given, so each mode has the list. */
const PREFIXES = ["", "/agent", "/proxy"] as const;

export const modelsRoutes: readonly Route[] = [
  ...PREFIXES.flatMap((prefix): Route[] => [
    {
      method: "GET",
      path: `${prefix}/v1/models`,
      access: "any-caller",
      shape: "chat",
      summary:
        "The models that can be asked for; in Anthropic's shape for callers that send `anthropic-version`.",
      handle: async (request, gateway) =>
        Response.json(renderList(await servedModels(request, gateway), request)),
    },
    {
      method: "GET",
      // Names of models may have slashes.
      path: `${prefix}/v1/models/:id{.+}`,
      access: "any-caller",
      shape: "chat",
      summary: "One of the models.",
      handle: async (request, gateway) => {
        const model = (await servedModels(request, gateway)).find(({ id }) => id === request.params.id);
        if (model !== undefined) return Response.json(renderModel(model, request));
        const body = isAnthropic(request) ? anthropicProblem(UNKNOWN) : openAiProblem(UNKNOWN);
        return Response.json(body, { status: UNKNOWN.status });
      },
    },
  ]),
  {
    method: "GET",
    path: "/v1/capabilities",
    access: "any-caller",
    shape: "api",
    summary: "What this server can do, as clients of Hermes Agent read it.",
    handle: async (request, gateway) => Response.json(await capabilities(request, gateway)),
  },
];

const UNKNOWN: GatewayProblem = {
  status: 404,
  code: "model_not_found",
  message: "This server has no model of that name.",
  hint: "GET /v1/models lists the models.",
  param: "model",
};

/** The configured model first, then models of own servers, then suggestions for the vendors whose keys are there. Of these, the token's. */
async function servedModels({ caller }: RouteRequest, gateway: Gateway): Promise<readonly ServedModel[]> {
  const config = await gateway.config();
  const { env } = gateway;
  const own = config.models.customProviders.flatMap(({ name, models }) =>
    Object.entries(models).map(([model, { contextLength }]) => ({
      provider: `custom:${name}`,
      model,
      contextLength,
    })),
  );
  const suggested = knownProviders()
    .filter(({ envVars }) => envVars.some((variable) => (env[variable] ?? "").trim() !== ""))
    .flatMap(({ name, models }) =>
      models.map((model) => ({ provider: name, model, contextLength: undefined })),
    );
  const served = new Map<string, ServedModel>();
  const usual = chooseModel({ env, config });
  if (usual.ok) {
    const { model, provider } = usual.value;
    if (mayAsk(caller, usual.value, true))
      served.set(model, { id: model, provider, contextLength: config.model.contextLength });
  }
  for (const { provider, model, contextLength } of [...own, ...suggested]) {
    const id = nameThatChooses({ provider, model }, { env, config });
    if (id !== undefined && !served.has(id) && mayAsk(caller, { provider, model }, false))
      served.set(id, { id, provider, contextLength });
  }
  return [...served.values()];
}

/** A client sends nothing but the name: it has to lead to that provider by itself. */
function nameThatChooses(
  { provider, model }: { readonly provider: string; readonly model: string },
  sources: { readonly env: Gateway["env"]; readonly config: HermesConfig },
): string | undefined {
  return [model, `${provider}/${model}`, `${provider}:${model}`].find((name) => {
    const chosen = chooseModel({ ...sources, flags: { model: name } });
    return chosen.ok && chosen.value.provider === provider && chosen.value.model === model;
  });
}

function isAnthropic({ headers }: RouteRequest): boolean {
  return headers.has("anthropic-version");
}

function renderList(models: readonly ServedModel[], request: RouteRequest): JsonObject {
  const data = models.map((model) => renderModel(model, request));
  if (!isAnthropic(request)) return { object: "list", data };
  return { data, has_more: false, first_id: models[0]?.id ?? null, last_id: models.at(-1)?.id ?? null };
}

/** When a model was made is not known here. */
function renderModel({ id, provider, contextLength }: ServedModel, request: RouteRequest): JsonObject {
  if (isAnthropic(request))
    return withoutUndefined({
      type: "model",
      id,
      display_name: id,
      created_at: "1970-01-01T00:00:00Z",
      max_input_tokens: contextLength,
    });
  return withoutUndefined({
    id,
    object: "model",
    created: 0,
    owned_by: provider,
    context_length: contextLength,
  });
}

/** The shape of Hermes Agent's API server, whose clients look at `object`, `platform`, `features` and `endpoints`. */
async function capabilities({ caller }: RouteRequest, gateway: Gateway): Promise<JsonObject> {
  const config = await gateway.config();
  const usual = chooseModel({ env: gateway.env, config });
  return {
    object: "hermes.api_server.capabilities",
    platform: "hermes-agent",
    server: { name: "hermes-memory", version: VERSION },
    model: usual.ok && mayAsk(caller, usual.value, true) ? usual.value.model : null,
    auth: { type: "bearer", required: caller.kind === "token" },
    runtime: {
      mode: config.gateway.mode === "agent" ? "server_agent" : "proxy",
      tool_execution: config.gateway.mode === "agent" ? "server" : "client",
      split_runtime: false,
    },
    features: {
      chat_completions: true,
      chat_completions_streaming: true,
      responses_api: true,
      responses_streaming: true,
      messages_api: true,
      messages_streaming: true,
      models_api: true,
      client_tools: true,
      mcp: true,
      cors: config.gateway.corsOrigins.length > 0,
      run_submission: false,
      run_status: false,
      run_events_sse: false,
      run_stop: false,
      run_approval_response: false,
      tool_progress_events: false,
      approval_events: false,
      session_resources: false,
      session_continuity_header: "X-Hermes-Session-Id",
      session_key_header: "X-Hermes-Session-Key",
    },
    endpoints: {
      models: { method: "GET", path: "/v1/models" },
      chat_completions: { method: "POST", path: "/v1/chat/completions" },
      responses: { method: "POST", path: "/v1/responses" },
      messages: { method: "POST", path: "/v1/messages" },
      count_tokens: { method: "POST", path: "/v1/messages/count_tokens" },
      health: { method: "GET", path: "/healthz" },
      mcp: { method: "POST", path: "/mcp" },
    },
  };
}
