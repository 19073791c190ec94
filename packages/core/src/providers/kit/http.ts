// JSON over HTTP for the providers that call a server. One client is one base URL with its headers. A call has a deadline, repeats what
// is safe to repeat, reports to the service's breaker, and returns its failure as a value with a text that is safe to show.
import { err, isRecord, ok, type Result } from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import type { Breaker } from "./breaker.ts";

export type HttpClientOptions = {
  /** The service's name in messages: "Mem0". */
  readonly service: string;
  /** A path in it is kept, trailing slashes are not. */
  readonly baseUrl: string;
  /** Asked before every attempt, so that a changed key takes effect. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** For one call with its repetitions, in milliseconds. */
  readonly timeoutMs: number;
  readonly breaker: Breaker;
  /** Ends every call when it is aborted. */
  readonly closing: AbortSignal;
  /** The text in an error body of this service. Default: `detail`, `error`, `message` in the usual shapes. */
  readonly messageOf?: (body: unknown) => string | undefined;
  /** Told after each call that reached the server and was not its fault, for status. */
  readonly onSuccess?: () => void;
};

export type HttpCall = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Appended to the base URL; segments that hold foreign text are made with `segment`. */
  readonly path: string;
  /** Values that are undefined are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly json?: unknown;
  readonly form?: FormData;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Sending it twice does no harm, so it is repeated after a failed connection and 408, 429, 502, 503, 504. Default: only GET. */
  readonly isRepeatable?: boolean;
  /** How often at most. Default 2. */
  readonly repeats?: number;
  /** `json` (default) refuses an empty body and anything that is not JSON; `nothing` ignores the body; `bytes` returns a Uint8Array. */
  readonly expects?: "json" | "json-or-nothing" | "nothing" | "bytes";
  /** Longest accepted answer. Default 8 MiB. */
  readonly maxBytes?: number;
  /** Probes and checks do not count as failures of the service. */
  readonly ignoresBreaker?: boolean;
};

export type HttpFailureKind =
  /** The breaker is open: no request was made. */
  | "paused"
  | "unreachable"
  | "timeout"
  /** The caller or the shutdown ended it. */
  | "aborted"
  /** 401, 403 */
  | "unauthorised"
  /** 402: the plan or quota does not allow it. */
  | "unpaid"
  /** 429 */
  | "throttled"
  | "not-found"
  | "conflict"
  /** Another 4xx: the request itself is wrong, sending it again does not help. */
  | "refused"
  /** 5xx, 408 */
  | "server"
  /** The answer is not what the service sends: not JSON, cut off, too long. */
  | "bad-answer";

export type HttpFailure = {
  readonly kind: HttpFailureKind;
  /** One sentence without secrets: the service, what was asked, what came back. */
  readonly message: string;
  /** The service's own words, shortened, without secrets: "" when there are none. */
  readonly detail: string;
  readonly status?: number;
  readonly body?: unknown;
  readonly retryAfterMs?: number;
  /** The server may have done what was asked although the call failed. */
  readonly mayHaveHappened: boolean;
};

/** Thrown by `send`. */
export class ServiceError extends Error {
  readonly failure: HttpFailure;

  constructor(failure: HttpFailure) {
    super(failure.message);
    this.name = "ServiceError";
    this.failure = failure;
  }
}

export interface HttpClient {
  readonly baseUrl: string;
  /** For a caller that decides by the failure. Never rejects. */
  request(call: HttpCall): Promise<Result<unknown, HttpFailure>>;
  /** For a caller that passes every failure on: throws `ServiceError`. */
  send(call: HttpCall): Promise<unknown>;
}

// ---- PLACEHOLDER until branch `http` is merged ----

export function segment(text: string): string {
  return encodeURIComponent(text);
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const baseUrl = options.baseUrl.replace(/\/+$/, "");
  const failure = (kind: HttpFailureKind, message: string, more: Partial<HttpFailure> = {}): HttpFailure => ({
    kind,
    message,
    detail: "",
    mayHaveHappened: false,
    ...more,
  });
  async function request(call: HttpCall): Promise<Result<unknown, HttpFailure>> {
    if (!options.breaker.tryEnter()) return err(failure("paused", `${options.service} is paused.`));
    const url = new URL(baseUrl + call.path);
    for (const [key, value] of Object.entries(call.query ?? {}))
      if (value !== undefined)
        for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(key, String(each));
    const signals = [AbortSignal.timeout(call.timeoutMs ?? options.timeoutMs), options.closing];
    if (call.signal) signals.push(call.signal);
    try {
      const response = await fetch(url, {
        method: call.method,
        headers: {
          ...(call.json === undefined ? {} : { "content-type": "application/json" }),
          ...options.headers(),
          ...call.headers,
        },
        body: call.json === undefined ? (call.form ?? null) : JSON.stringify(call.json),
        signal: AbortSignal.any(signals),
      });
      if (call.expects === "bytes" && response.ok) return ok(new Uint8Array(await response.arrayBuffer()));
      const text = await response.text();
      const body: unknown = text === "" ? undefined : JSON.parse(text);
      if (response.ok) {
        options.breaker.succeeded();
        return ok(body);
      }
      options.breaker.succeeded();
      const detail = redactSecrets(options.messageOf?.(body) ?? (isRecord(body) ? JSON.stringify(body) : ""));
      const kinds: Record<number, HttpFailureKind> = {
        401: "unauthorised",
        403: "unauthorised",
        402: "unpaid",
        404: "not-found",
        409: "conflict",
        429: "throttled",
      };
      const kind = kinds[response.status] ?? (response.status >= 500 ? "server" : "refused");
      const message = `${options.service} answered ${response.status}: ${detail}`;
      return err(failure(kind, message, { status: response.status, body, detail }));
    } catch (cause) {
      options.breaker.failed();
      return err(failure("unreachable", `${options.service} cannot be reached.`, { detail: String(cause) }));
    }
  }
  return {
    baseUrl,
    request,
    async send(call) {
      const result = await request(call);
      if (result.ok) return result.value;
      throw new ServiceError(result.error);
    },
  };
}

export function deliveryOf({ kind, message }: HttpFailure): import("./outbox/outbox.ts").Delivery {
  if (kind === "unauthorised" || kind === "unpaid") return { kind: "blocked", reason: message };
  if (kind === "refused" || kind === "not-found" || kind === "conflict")
    return { kind: "refused", reason: message };
  return { kind: "later", reason: message };
}
