// Spans, with the SDK that a user would load.
import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { hashedUser } from "../src/otel.ts";
import type { RouteRequest } from "../src/types.ts";
import { route, runningGateway } from "./running-gateway.ts";

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** Registers the SDK for this test. */
function sdk() {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  onTestFinished(async () => {
    await provider.shutdown();
    for (const api of [trace, context, propagation]) api.disable();
  });
  return exporter;
}

/** A turn of a user; the `traceparent` that its route sees. */
async function turn(traceparent: string, answer: (request: RouteRequest) => Response) {
  let seen: string | null = null;
  const handled = route("/test/turn/:id", async (request) => {
    seen = request.headers.get("traceparent");
    await request.json();
    const user = { platform: "api", id: "alice" };
    request.annotate?.({ mode: "agent", client: "open-webui", model: "m-1", user });
    request.annotate?.({ inputTokens: 7, outputTokens: 3 });
    return answer(request);
  });
  const gateway = await runningGateway({ routes: [handled] });
  await gateway.call(`/${gateway.localToken}/test/turn/secret-chat?q=hidden`, {
    method: "POST",
    body: '{"text":"the crane is blue"}',
    headers: { "content-type": "application/json", "x-hermes-user-id": "alice", traceparent },
  });
  await gateway.close();
  return seen;
}

describe("spans of requests", () => {
  it("have route, status, mode, client, model and tokens, and neither contents, users nor tokens; routes see their own traceparent", async () => {
    const exporter = sdk();
    const seen = await turn(PARENT, () => Response.json({}));
    const [span, ...others] = exporter.getFinishedSpans();
    expect(others).toEqual([]);
    const { traceId = "", spanId = "" } = span?.spanContext() ?? {};
    expect(span).toMatchObject({
      name: "POST /test/turn/:id",
      kind: SpanKind.SERVER,
      parentSpanContext: { traceId, spanId: "b7ad6b7169203331" },
      status: { code: SpanStatusCode.UNSET },
      instrumentationScope: { name: "hermes-memory.gateway" },
    });
    expect(span?.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/test/turn/:id",
      "http.response.status_code": 200,
      "hermes.caller": "local",
      "hermes.client": "open-webui",
      "hermes.mode": "agent",
      "hermes.user": hashedUser({ platform: "api", id: "alice" }),
      "gen_ai.request.model": "m-1",
      "gen_ai.usage.input_tokens": 7,
      "gen_ai.usage.output_tokens": 3,
    });
    const { name, attributes, events, resource } = span ?? {};
    expect(JSON.stringify([name, attributes, events, resource?.attributes])).not.toMatch(
      /alice|crane|secret-chat|hidden|hm_/,
    );
    expect(seen).toBe(`00-0af7651916cd43dd8448eb211c80319c-${spanId}-01`);
  });

  it("are not made, and the client's traceparent is passed on, without an SDK", async () => {
    expect(await turn(PARENT, () => Response.json({}))).toBe(PARENT);
  });
});
