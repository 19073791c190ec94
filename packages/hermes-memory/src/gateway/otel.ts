// Spans for OpenTelemetry, sent as OTLP over HTTP in JSON. On only if OTEL_EXPORTER_OTLP_ENDPOINT (or ..._TRACES_ENDPOINT) is set. A span
// never waits: it goes into a queue of limited length, and what does not fit is dropped and counted. No contents, no ids of users.
import { randomBytes } from "node:crypto";
import { sha256 } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { Metrics, UserRef } from "./types.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Span {
  /** For the header of a request that is made on behalf of this one. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  /** Once. The name is known when the route is. */
  end(outcome: { readonly name: string; readonly isError: boolean }): void;
}

export interface Tracer {
  readonly isOn: boolean;
  /** `traceparent` as the client sent it; a malformed one is ignored. */
  start(traceparent: string | null): Span | undefined;
  /** Sends what is waiting, for at most this time. */
  close(timeoutMs?: number): Promise<void>;
}

type Settings = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: SpanAttributes;
  readonly maxQueue: number;
  readonly maxBatch: number;
  readonly delayMs: number;
  readonly timeoutMs: number;
};

type FinishedSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: SpanAttributes;
  readonly isError: boolean;
};

const OFF: Tracer = { isOn: false, start: () => undefined, close: async () => {} };
const KIND_SERVER = 2;
const STATUS_ERROR = 2;
/** Version 00; later versions may have more fields behind these. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const SAMPLED = 1;

export function createTracer({
  env,
  version,
  log,
  metrics,
}: {
  readonly env: Environment;
  readonly version: string;
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Metrics;
}): Tracer {
  const settings = settingsFrom(env, version);
  if (settings === undefined) return OFF;
  if ("problem" in settings) {
    log.warn(settings.problem);
    return OFF;
  }
  const exporter = createExporter(settings, log, metrics);
  return {
    isOn: true,
    start(traceparent) {
      const [, traceId = newTraceId(), parentSpanId, flags = "01"] = parentOf(traceparent);
      const spanId = randomBytes(8).toString("hex");
      const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
      const startNanos = nowNanos();
      let attributes: SpanAttributes = {};
      let isEnded = false;
      return {
        traceparent: `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`,
        set(more) {
          attributes = { ...attributes, ...more };
        },
        end({ name, isError }) {
          if (isEnded || !isSampled) return;
          isEnded = true;
          const span = { traceId, spanId, parentSpanId, name, startNanos, attributes, isError };
          exporter.add({ ...span, endNanos: nowNanos() });
        },
      };
    },
    close: (timeoutMs = 2_000) => exporter.close(timeoutMs),
  };
}

/** Tells users apart without naming them. */
export function hashedUser(user: UserRef | undefined): string {
  return user === undefined ? "owner" : sha256(`${user.platform}\0${user.id}`).slice(0, 16);
}

function createExporter(settings: Settings, log: Pick<Logger, "warn">, metrics: Metrics) {
  let queue: FinishedSpan[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let isWarned = false;

  function drop(count: number, reason: string): void {
    metrics.count("spans_dropped_total", { reason }, count);
    if (isWarned) return;
    isWarned = true; // once: the counter has the rest
    log.warn("Spans could not be exported to OpenTelemetry; /metrics counts them.", { reason });
  }

  async function send(batch: readonly FinishedSpan[], timeoutMs: number): Promise<void> {
    try {
      const response = await fetch(settings.url, {
        method: "POST",
        headers: { "content-type": "application/json", ...settings.headers },
        body: JSON.stringify(toOtlp(batch, settings.resource)),
        signal: AbortSignal.timeout(timeoutMs),
        redirect: "error",
      });
      await response.body?.cancel();
      if (response.ok) isWarned = false;
      else drop(batch.length, `status-${response.status}`);
    } catch (cause) {
      drop(batch.length, cause instanceof Error && cause.name === "TimeoutError" ? "timeout" : "unreachable");
    }
  }

  async function sendAll(untilMs: number): Promise<void> {
    while (queue.length > 0) {
      const left = Math.min(settings.timeoutMs, untilMs - Date.now());
      if (left <= 0) {
        drop(queue.length, "closed");
        queue = [];
        return;
      }
      const batch = queue.slice(0, settings.maxBatch);
      queue = queue.slice(batch.length);
      await send(batch, left);
    }
  }

  /** One request at a time, so that a slow collector costs one connection. */
  function flush(untilMs = Number.POSITIVE_INFINITY): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    sending ??= sendAll(untilMs).finally(() => {
      sending = undefined;
    });
    return sending;
  }

  return {
    add(span: FinishedSpan): void {
      if (queue.length >= settings.maxQueue) {
        drop(1, "queue-full");
        return;
      }
      queue.push(span);
      if (queue.length >= settings.maxBatch) void flush();
      else timer ??= setTimeout(() => void flush(), settings.delayMs).unref();
    },
    async close(timeoutMs: number): Promise<void> {
      const untilMs = Date.now() + timeoutMs;
      let late: NodeJS.Timeout | undefined;
      const isLate = new Promise<void>((resolve) => {
        late = setTimeout(resolve, timeoutMs);
      });
      const sent = (async () => {
        await sending;
        await flush(untilMs);
      })();
      await Promise.race([sent, isLate]);
      clearTimeout(late);
    },
  };
}

function settingsFrom(
  env: Environment,
  version: string,
): Settings | { readonly problem: string } | undefined {
  const value = (name: string): string | undefined => env[name]?.trim() || undefined;
  const [whole, base] = [value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), value("OTEL_EXPORTER_OTLP_ENDPOINT")];
  const isOff =
    value("OTEL_SDK_DISABLED")?.toLowerCase() === "true" || value("OTEL_TRACES_EXPORTER") === "none";
  if ((whole ?? base) === undefined || isOff) return undefined;
  const url = whole ?? `${base?.replace(/\/+$/, "")}/v1/traces`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    return {
      problem:
        "OTEL_EXPORTER_OTLP_ENDPOINT is no http or https address, so no spans are exported. Set it to the collector's address, such as http://127.0.0.1:4318.",
    };
  const whichHeaders = value("OTEL_EXPORTER_OTLP_TRACES_HEADERS") ?? value("OTEL_EXPORTER_OTLP_HEADERS");
  return {
    url,
    headers: pairs(whichHeaders ?? ""),
    resource: {
      ...pairs(value("OTEL_RESOURCE_ATTRIBUTES") ?? ""),
      "service.name": value("OTEL_SERVICE_NAME") ?? "hermes-memory",
      "service.version": version,
    },
    maxQueue: wholeNumber(value("OTEL_BSP_MAX_QUEUE_SIZE"), 2_048),
    maxBatch: wholeNumber(value("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), 512),
    delayMs: wholeNumber(value("OTEL_BSP_SCHEDULE_DELAY"), 5_000),
    timeoutMs: wholeNumber(value("OTEL_EXPORTER_OTLP_TIMEOUT"), 10_000),
  };
}

/** `a=1,b=2`, percent-encoded. What is no pair, or could not be a header, is left out. */
function pairs(text: string): Record<string, string> {
  const entries = text.split(",").flatMap((part) => {
    const at = part.indexOf("=");
    const name = part.slice(0, Math.max(0, at)).trim();
    const value = decoded(part.slice(at + 1).trim());
    return /^[\w.-]+$/.test(name) && !/[\r\n\0]/.test(value) ? [[name, value] as const] : [];
  });
  return Object.fromEntries(entries);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function wholeNumber(text: string | undefined, fallback: number): number {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : fallback;
}

function parentOf(traceparent: string | null): readonly (string | undefined)[] {
  const found = TRACEPARENT.exec(traceparent ?? "");
  return found === null || /^0+$/.test(found[1] ?? "") || /^0+$/.test(found[2] ?? "") ? [] : found;
}

function newTraceId(): string {
  return randomBytes(16).toString("hex");
}

function nowNanos(): bigint {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1_000)) * 1_000n;
}

function toOtlp(spans: readonly FinishedSpan[], resource: SpanAttributes): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: toAttributes(resource) },
        scopeSpans: [{ scope: { name: "hermes-memory.gateway" }, spans: spans.map(toOtlpSpan) }],
      },
    ],
  };
}

function toOtlpSpan({ startNanos, endNanos, attributes, isError, ...span }: FinishedSpan): object {
  return {
    ...span,
    kind: KIND_SERVER,
    startTimeUnixNano: String(startNanos),
    endTimeUnixNano: String(endNanos),
    attributes: toAttributes(attributes),
    status: isError ? { code: STATUS_ERROR } : {},
  };
}

function toAttributes(attributes: SpanAttributes): object[] {
  return Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key, value: toValue(value) }));
}

function toValue(value: SpanAttributes[string]): object {
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number")
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { stringValue: value };
}
