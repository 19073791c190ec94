import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTracer, hashedUser } from "../../src/gateway/otel.ts";
import type { Metrics } from "../../src/gateway/types.ts";

type Received = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: OtlpBody };
type OtlpBody = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
};
type OtlpAttribute = { readonly key: string; readonly value: Readonly<Record<string, unknown>> };
type OtlpSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly status: { readonly code?: number };
};

/** A collector on this machine. */
async function collector(status: number | "hang" = 200) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    received.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(text) as OtlpBody });
    if (status !== "hang") response.writeHead(status).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

function tracer(env: Readonly<Record<string, string>>) {
  const dropped: Record<string, number> = {};
  const warnings: string[] = [];
  const metrics: Metrics = {
    count: (_name, labels, by = 1) => {
      const reason = labels?.reason ?? "";
      dropped[reason] = (dropped[reason] ?? 0) + by;
    },
    observe() {},
    gauge() {},
  };
  const log = { warn: (message: string) => void warnings.push(message) };
  return { ...createTracer({ env, version: "1.2.3", log, metrics }), dropped, warnings };
}

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const spansOf = ({ body }: Received): OtlpSpan[] =>
  body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));

describe("spans", () => {
  it.each([
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: " " },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_SDK_DISABLED: "true" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_TRACES_EXPORTER: "none" },
  ])("are off with %j", (env) => {
    const { isOn, start, warnings } = tracer(env as Readonly<Record<string, string>>);
    expect({ isOn, span: start(PARENT), warnings }).toEqual({ isOn: false, span: undefined, warnings: [] });
  });

  it("are off with one warning when the address is none", () => {
    const { isOn, warnings } = tracer({ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" });
    expect(isOn).toBe(false);
    expect(warnings).toEqual([expect.stringContaining("OTEL_EXPORTER_OTLP_ENDPOINT")]);
  });

  it("are sent to /v1/traces with headers, resource, times and attributes", async () => {
    const { url, received } = await collector();
    const { start, close } = tracer({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-team=blue%20crane, authorization=Bearer%20t, broken",
      OTEL_SERVICE_NAME: "our-gateway",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test",
    });
    const span = start(null);
    span?.set({ "http.route": "/v1/messages", tokens: 12, share: 0.5, ok: true, none: undefined });
    span?.end({ name: "POST /v1/messages", isError: true });
    span?.end({ name: "twice", isError: false });
    await close();
    expect(received).toHaveLength(1);
    const [first] = received as [Received];
    expect(first.path).toBe("/v1/traces");
    expect(first.headers).toMatchObject({ "x-team": "blue crane", authorization: "Bearer t" });
    expect(first.body.resourceSpans[0]?.resource.attributes).toEqual([
      { key: "deployment.environment", value: { stringValue: "test" } },
      { key: "service.name", value: { stringValue: "our-gateway" } },
      { key: "service.version", value: { stringValue: "1.2.3" } },
    ]);
    const [sent, ...more] = spansOf(first);
    expect(more).toEqual([]);
    expect(sent).toMatchObject({
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      name: "POST /v1/messages",
      kind: 2,
      status: { code: 2 },
      attributes: [
        { key: "http.route", value: { stringValue: "/v1/messages" } },
        { key: "tokens", value: { intValue: "12" } },
        { key: "share", value: { doubleValue: 0.5 } },
        { key: "ok", value: { boolValue: true } },
      ],
    });
    expect(BigInt(sent?.endTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(BigInt(sent?.startTimeUnixNano ?? 1));
    expect(Math.abs(Number(BigInt(sent?.startTimeUnixNano ?? 0) / 1_000_000n) - Date.now())).toBeLessThan(
      60_000,
    );
  });

  it("continue the trace of the client, and name themselves to the next server", async () => {
    const { url, received } = await collector();
    const { start, close } = tracer({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/own/path` });
    const span = start(PARENT);
    span?.end({ name: "GET /", isError: false });
    await close();
    expect(received[0]?.path).toBe("/own/path");
    const [sent] = spansOf(received[0] as Received);
    expect(sent).toMatchObject({
      traceId: PARENT.slice(3, 35),
      parentSpanId: PARENT.slice(36, 52),
      status: {},
    });
    expect(span?.traceparent).toBe(`00-${PARENT.slice(3, 35)}-${sent?.spanId}-01`);
  });

  it.each([
    "nonsense",
    "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
  ])("begin a trace of their own after %s", (traceparent) => {
    const { start } = tracer({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
    expect(start(traceparent)?.traceparent).toMatch(/^00-(?!0af765|0000)[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });

  it("are not exported, but passed on, when the client does not sample", async () => {
    const { url, received } = await collector();
    const { start, close } = tracer({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
    const span = start(`${PARENT.slice(0, -2)}00`);
    span?.end({ name: "GET /", isError: false });
    await close();
    expect(received).toEqual([]);
    expect(span?.traceparent).toMatch(/-00$/);
  });

  it("go in batches; what does not fit into the queue is dropped and counted", async () => {
    const { url, received } = await collector("hang");
    const { start, close, dropped, warnings } = tracer({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_BSP_MAX_QUEUE_SIZE: "10",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "4",
    });
    const startedAt = performance.now();
    for (let i = 0; i < 30; i += 1) start(null)?.end({ name: "GET /", isError: false });
    expect(performance.now() - startedAt).toBeLessThan(100);
    await expect.poll(() => received.length).toBe(1);
    expect(spansOf(received[0] as Received)).toHaveLength(4);
    expect(dropped["queue-full"]).toBe(16);
    await close(50);
    expect(warnings).toHaveLength(1);
  });

  it("are counted as dropped when the collector refuses them or is not there, and nobody waits", async () => {
    const { url } = await collector(503);
    const refusing = tracer({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
    refusing.start(null)?.end({ name: "GET /", isError: false });
    await refusing.close();
    expect(refusing.dropped).toEqual({ "status-503": 1 });
    const gone = tracer({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
    gone.start(null)?.end({ name: "GET /", isError: false });
    await gone.close();
    expect(gone.dropped).toEqual({ unreachable: 1 });
  });

  it("have a hash instead of the user", () => {
    expect(hashedUser(undefined)).toBe("owner");
    expect(hashedUser({ platform: "api", id: "alice" })).toMatch(/^[0-9a-f]{16}$/);
    expect(hashedUser({ platform: "api", id: "alice" })).not.toBe(
      hashedUser({ platform: "a", id: "pialice" }),
    );
  });
});
