// Spans for OpenTelemetry, by its API: an SDK that the user loads into the process (`node --import`) decides what is sampled and where it is
// sent; without one nothing happens. No contents, no ids of users.
import { sha256 } from "@hermes-memory/core/internal/lib";
import { VERSION } from "@hermes-memory/core/internal/version";
import { context, propagation, type Span, SpanKind, trace } from "@opentelemetry/api";
import type { UserRef } from "./types.ts";

const HEADERS = {
  get: (headers: Headers, name: string) => headers.get(name) ?? undefined,
  keys: (headers: Headers) => [...headers.keys()],
  set: (headers: Headers, name: string, value: string) => headers.set(name, value),
};

/** Of a request with these headers. A request that is made with the headers on behalf of this one becomes a child of the span. */
export function startSpan(headers: Headers): Span {
  const running = context.active();
  // The SDK's own instrumentation of HTTP has read the headers already.
  const parent =
    trace.getSpan(running) === undefined ? propagation.extract(running, headers, HEADERS) : running;
  const tracer = trace.getTracer("hermes-memory.gateway", VERSION);
  const span = tracer.startSpan("request", { kind: SpanKind.SERVER }, parent); // `Visit` names it
  propagation.inject(trace.setSpan(parent, span), headers, HEADERS);
  return span;
}

/** Tells users apart without naming them. */
export function hashedUser(user: UserRef | undefined): string {
  return user === undefined ? "owner" : sha256(`${user.platform}\0${user.id}`).slice(0, 16);
}
