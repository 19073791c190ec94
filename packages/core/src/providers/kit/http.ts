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
