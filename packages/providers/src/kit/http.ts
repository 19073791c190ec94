// JSON over HTTP for the providers that call a server. One client is one base URL with its headers. A call has a deadline, repeats what
// is safe to repeat, reports to the service's breaker, and returns its failure as a value with a text that is safe to show.
import {
  describeCause,
  err,
  groupThousands,
  ok,
  parseOutsideJson,
  type Result,
  withoutUndefined,
} from "@hermes-memory/core/internal/lib";
import type { Breaker } from "@hermes-memory/core/internal/providers";
import { createRedactor, redactSecrets } from "@hermes-memory/core/internal/security";
import { VERSION } from "@hermes-memory/core/internal/version";
import { type Deadline, pause, startDeadline } from "./deadline.ts";
import {
  type Asked,
  classify,
  connectionFailure,
  errorText,
  type HttpFailure,
  type HttpFailureKind,
  oddityMessage,
  pauseBefore,
  retryAfterMs,
  shortLine,
  statusMessage,
  timeoutMessage,
} from "./http-failure.ts";

export { deliveryOf, type HttpFailure, type HttpFailureKind } from "./http-failure.ts";

export type HttpClientOptions = {
  /** The service's name in messages: "Mem0". */
  readonly service: string;
  /** A path in it is kept, trailing slashes are not. A user and password in it are sent as basic authorisation. */
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
  /** Told of each failed call. */
  readonly onFailure?: (failure: HttpFailure) => void;
  /** Told after each call that reached the server and was not its fault, for status. */
  readonly onSuccess?: () => void;
};

export type HttpCall = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Appended to the base URL; segments that hold foreign text are made with `segment`. */
  readonly path: string;
  /** Values that are undefined are left out. */
  readonly query?: Query;
  readonly json?: unknown;
  readonly form?: FormData;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** Aborted with a `TimeoutError` (`AbortSignal.timeout`) it gives `timeout`, which counts against the service; else `aborted`. */
  readonly signal?: AbortSignal;
  /** Sending it twice does no harm, so it is repeated after a cut connection and 408, 429, 502, 503, 504. Default: only GET. */
  readonly isRepeatable?: boolean;
  /**
   * `json` (default) refuses an empty body and anything that is not JSON; `json-or-nothing` (default for DELETE) gives undefined for an
   * empty body; `nothing` ignores the body; `bytes` returns a Uint8Array and follows a redirect to a file store, without our headers.
   */
  readonly expects?: "json" | "json-or-nothing" | "nothing" | "bytes";
  /** How an answer of this service is recognised: JSON of something else in between is no proof that something was stored, or is not there. */
  readonly shape?: (answer: unknown) => boolean;
  /** Longest accepted answer, unpacked. Default 8 MiB. */
  readonly maxBytes?: number;
  /** For probes and checks: made also while the breaker is open, and not reported to it. */
  readonly ignoresBreaker?: boolean;
};

/** Thrown by `send` and `find`. */
export class ServiceError extends Error {
  readonly failure: HttpFailure;

  constructor(failure: Pick<HttpFailure, "kind" | "message"> & Partial<HttpFailure>) {
    super(failure.message);
    this.name = "ServiceError";
    this.failure = { detail: "", mayHaveHappened: true, ...failure };
  }
}

export interface HttpClient {
  /** Without a user, a password and trailing slashes. */
  readonly baseUrl: string;
  /** For a caller that decides by the failure. Never rejects. */
  request(call: HttpCall): Promise<Result<unknown, HttpFailure>>;
  /** For a caller that passes every failure on: throws `ServiceError`. */
  send(call: HttpCall): Promise<unknown>;
  /** As `send`; null when what is asked for does not exist. */
  find(call: HttpCall): Promise<unknown>;
}

/** `request` with the two ways to throw its failure. */
export function clientOf({ baseUrl, request }: Pick<HttpClient, "baseUrl" | "request">): HttpClient {
  const sent = async (call: HttpCall, mayBeMissing: boolean): Promise<unknown> => {
    const outcome = await request(call);
    if (outcome.ok) return outcome.value;
    if (mayBeMissing && outcome.error.kind === "not-found") return null;
    throw new ServiceError(outcome.error);
  };
  return { baseUrl, request, send: (call) => sent(call, false), find: (call) => sent(call, true) };
}

const DEFAULT_MAX_BYTES = 8 * 2 ** 20;
const MAX_ERROR_BYTES = 2 ** 18;
const REPEATS = 2;
/** A server that wants a longer pause has failed: the outbox keeps to it, and nobody waits inside a call. */
const LONGEST_PAUSE_MS = 5_000;
const REPEATED_STATUSES = [408, 429, 502, 503, 504];
const MAX_REDIRECTS = 5;

/** How one attempt ended. */
type Attempt = Result<unknown, Miss>;
type Miss = {
  readonly failure: HttpFailure;
  /** What it says about the service; `unknown` also when nothing was sent. */
  readonly health: "up" | "down" | "unknown";
  readonly isRepeatable: boolean;
};

/** What a status says about the service; of the other kinds, 4xx: it works. */
const HEALTH: Partial<Record<HttpFailureKind, Miss["health"]>> = {
  unauthorised: "down",
  throttled: "down",
  server: "down",
  "bad-answer": "unknown",
};

function missed(
  failure: Omit<HttpFailure, "detail"> & { readonly detail?: string },
  health: Miss["health"],
  isRepeatable = false,
): Attempt {
  return err({ failure: withoutUndefined({ detail: "", ...failure }), health, isRepeatable });
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { service, breaker, closing } = options;
  const base = parseBase(options.baseUrl);
  const origin = base.ok ? base.value.url.origin : "";

  async function request(call: HttpCall): Promise<Result<unknown, HttpFailure>> {
    const outcome = await guarded(call);
    if (!outcome.ok) options.onFailure?.(outcome.error);
    return outcome;
  }

  async function guarded(call: HttpCall): Promise<Result<unknown, HttpFailure>> {
    const asked = { service, origin, what: describeCall(call) };
    if (!base.ok)
      return err({
        kind: "refused",
        message: `The base URL of ${service} cannot be used: ${base.error}. Correct it with 'hermes memory setup ${service.toLowerCase()}'.`,
        detail: "",
        mayHaveHappened: false,
      });
    const deadline = startDeadline(call.timeoutMs ?? options.timeoutMs, [closing, call.signal]);
    try {
      if (deadline.ending() !== undefined) return err(ended(asked, deadline, false));
      if (call.ignoresBreaker !== true && !breaker.tryEnter())
        return err({
          kind: "paused",
          message: `${service} is not asked for now, because several requests in a row failed. It is tried again by itself after a pause; 'hermes memory status' shows the last error.`,
          detail: "",
          mayHaveHappened: false,
        });
      const outcome = await withRepeats(call, asked, base.value, deadline);
      const health = outcome.ok ? "up" : outcome.error.health;
      if (call.ignoresBreaker !== true) {
        if (health === "up") breaker.succeeded();
        else if (health === "down") breaker.failed();
        else breaker.abandoned();
      }
      if (health === "up") options.onSuccess?.();
      return outcome.ok ? outcome : err(outcome.error.failure);
    } finally {
      deadline.stop();
    }
  }

  async function withRepeats(call: HttpCall, asked: Asked, base: Base, deadline: Deadline): Promise<Attempt> {
    const isRepeatable = call.isRepeatable ?? call.method === "GET";
    const repeats = isRepeatable ? REPEATS : 0;
    let mayHaveHappened = false; // in an earlier attempt
    for (let repeated = 0; ; repeated += 1) {
      const attempt = await attemptOnce(call, asked, base, deadline);
      if (attempt.ok) return attempt;
      const { failure } = attempt.error;
      mayHaveHappened ||= failure.mayHaveHappened;
      const last = err({ ...attempt.error, failure: { ...failure, mayHaveHappened } });
      if (!attempt.error.isRepeatable || repeated >= repeats) return last;
      const pauseMs = pauseBefore(repeated + 1, failure.retryAfterMs, Math.random());
      if (pauseMs > LONGEST_PAUSE_MS || pauseMs >= deadline.leftMs()) return last;
      await pause(pauseMs, deadline.signal);
      if (deadline.ending() !== undefined)
        return missed(ended(asked, deadline, mayHaveHappened), attempt.error.health);
    }
  }

  async function attemptOnce(call: HttpCall, asked: Asked, base: Base, deadline: Deadline): Promise<Attempt> {
    const prepared = prepare(call, base);
    if (!prepared.ok) return missed({ ...prepared.error, mayHaveHappened: false }, "unknown");
    const { redact } = prepared.value;
    try {
      const followed = await follow(prepared.value, call, deadline.signal);
      if (followed.ok && followed.value.ok) return await readValue(followed.value, call, asked, deadline);
      if (followed.ok) return await readFailure(followed.value, asked, deadline, redact);
      const { status, to } = followed.error;
      const why = `leads to ${shortLine(to, redact)}, which is not followed: the API key belongs to ${origin} only`;
      const message = oddityMessage(asked, status, why);
      return missed({ kind: "bad-answer", message, status, mayHaveHappened: status === 303 }, "unknown");
    } catch (cause) {
      if (deadline.ending() !== undefined) return stopped(asked, deadline);
      const { message, wasSent } = connectionFailure(asked, cause);
      // A server that is off is off in half a second too, and a turn may be waiting for this; a cut connection is worth another try.
      return missed({ kind: "unreachable", message, mayHaveHappened: wasSent }, "down", wasSent);
    }
  }

  async function readFailure(
    response: Response,
    asked: Asked,
    deadline: Deadline,
    redact: (text: string) => string,
  ): Promise<Attempt> {
    const { status, headers } = response;
    const text = await readBody(response, MAX_ERROR_BYTES);
    if (deadline.ending() === "aborted") return stopped(asked, deadline);
    const { body, words } = errorIn(text, isHtml(response), options.messageOf);
    const detail = shortLine(words, redact);
    const message = statusMessage(asked, status, detail);
    const kind = classify(status);
    const mayHaveHappened = kind === "server" && status !== 503;
    const wish = headers.get("x-should-retry");
    return missed(
      {
        kind,
        message,
        detail,
        status,
        body,
        retryAfterMs: retryAfterMs(headers, Date.now()),
        mayHaveHappened,
      },
      HEALTH[kind] ?? "up",
      wish === "true" || (wish !== "false" && REPEATED_STATUSES.includes(status)),
    );
  }

  function prepare(call: HttpCall, base: Base): Result<Prepared, Pick<HttpFailure, "kind" | "message">> {
    const headers = new Headers({
      accept: call.expects === "bytes" ? "*/*" : "application/json",
      "user-agent": `hermes-memory/${VERSION}`,
    });
    const secrets = [...base.secrets];
    if (base.authorization !== undefined) headers.set("authorization", base.authorization);
    if (call.json !== undefined) headers.set("content-type", "application/json");
    for (const [name, value] of Object.entries({ ...options.headers(), ...call.headers })) {
      try {
        headers.set(name, value);
      } catch {
        // The error of Headers quotes the value, which may be the key.
        const message = `The value for the header ${name} of ${service} has characters that a header cannot carry, such as a line break. Enter the key again with 'hermes memory setup ${service.toLowerCase()}'.`;
        return err({ kind: "unauthorised", message });
      }
      if (!PUBLIC_HEADERS.test(name)) secrets.push(...secretsIn(value));
    }
    const redact = createRedactor(secrets);
    try {
      const body = call.form ?? (call.json === undefined ? undefined : JSON.stringify(call.json, storable));
      return ok({
        url: addressOf(base.url, call.path, call.query),
        headers,
        redact,
        ...(body === undefined ? {} : { body }),
      });
    } catch (cause) {
      const why = shortLine(describeCause(cause), redact);
      return err({
        kind: "refused",
        message: `The request ${describeCall(call)} to ${service} cannot be made: ${why}.`,
      });
    }
  }

  const baseUrl = base.ok
    ? `${origin}${base.value.url.pathname.replace(/\/+$/, "")}`
    : redactSecrets(options.baseUrl);
  return clientOf({ baseUrl, request });
}

function ended(asked: Asked, deadline: Deadline, wasSent: boolean): HttpFailure {
  const isTimeout = deadline.ending() === "timeout";
  return {
    kind: isTimeout ? "timeout" : "aborted",
    message: isTimeout
      ? timeoutMessage(asked, deadline.passedMs())
      : `${asked.what} to ${asked.service} was cancelled before its answer.`,
    detail: "",
    mayHaveHappened: wasSent,
  };
}

/** Ended while a request was under way. */
function stopped(asked: Asked, deadline: Deadline): Attempt {
  const failure = ended(asked, deadline, true);
  return missed(failure, failure.kind === "timeout" ? "down" : "unknown");
}

/** "POST /v3/memories/": without the query, which may hold a question of the user. */
function describeCall({ method, path }: HttpCall): string {
  const [shown = ""] = path.split("?");
  return `${method} ${shortLine(shown, redactSecrets)}`;
}

/** Half characters and NUL are no text for a database: a server answers 500, and a write with one would be sent again and again. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === "string" ? value.toWellFormed().replaceAll("\0", "") : value;
}

// ---- One request ----

type Prepared = {
  readonly url: URL;
  readonly headers: Headers;
  readonly body?: string | FormData;
  readonly redact: (text: string) => string;
};

const PUBLIC_HEADERS = /^(?:accept|content-type|user-agent)$/i;

type ForeignRedirect = { readonly status: number; readonly to: string };

/** Follows redirects within the origin, so that our headers reach no other server. */
async function follow(
  { url, headers, body }: Prepared,
  call: HttpCall,
  signal: AbortSignal,
): Promise<Result<Response, ForeignRedirect>> {
  let target = url;
  let sent = headers;
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetch(target, {
      method: call.method,
      headers: sent,
      body,
      signal,
      redirect: "manual",
    });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null) return ok(response);
    await response.body?.cancel().catch(() => {}); // the body of a redirect is of no use
    const next = URL.parse(location, target.href);
    const isSameOrigin = next?.origin === target.origin;
    // 301, 302 and 303 would make a GET of a POST, and its answer would be taken for that of the POST.
    const keepsMethod = call.method === "GET" || response.status === 307 || response.status === 308;
    const isFileStore =
      call.expects === "bytes" &&
      call.method === "GET" &&
      (next?.protocol === "https:" || (next?.protocol === "http:" && target.protocol === "http:"));
    if (next === null || !keepsMethod || redirects >= MAX_REDIRECTS || !(isSameOrigin || isFileStore))
      return err({
        status: response.status,
        to: next === null ? "no address" : `${next.origin}${next.pathname}`,
      });
    if (!isSameOrigin) sent = new Headers({ accept: "*/*", "user-agent": `hermes-memory/${VERSION}` });
    target = next;
  }
}

/** What an answer with a good status brings. */
async function readValue(
  response: Response,
  call: HttpCall,
  asked: Asked,
  deadline: Deadline,
): Promise<Attempt> {
  const { status } = response;
  const { maxBytes = DEFAULT_MAX_BYTES, expects = call.method === "DELETE" ? "json-or-nothing" : "json" } =
    call;
  const odd = (why: string, health: Miss["health"] = "unknown", isRepeatable = false): Attempt => {
    const message = oddityMessage(asked, status, why);
    return missed({ kind: "bad-answer", message, status, mayHaveHappened: true }, health, isRepeatable);
  };
  if (expects === "nothing") {
    await response.body?.cancel().catch(() => {}); // the answer has come: how its body ends does not matter
    return ok(undefined);
  }
  const body = await readBody(response, maxBytes);
  if (!body.ok) {
    if (deadline.ending() !== undefined) return stopped(asked, deadline);
    return body.error === "too-long"
      ? odd(`is longer than ${groupThousands(maxBytes)} bytes and was not read`)
      : odd("was cut off before its end, because the connection broke", "down", true);
  }
  if (expects === "bytes") return ok(body.value);
  if (isHtml(response)) return odd("is a web page and no JSON");
  const text = new TextDecoder().decode(body.value);
  if (text.trim() === "") return expects === "json" ? odd("is empty") : ok(undefined);
  const parsed = parseOutsideJson(text, { maxChars: maxBytes });
  if (!parsed.ok) return odd(parsed.error.message);
  return call.shape?.(parsed.value) === false
    ? odd(`is not one that ${asked.service} gives, so it does not count`)
    : parsed;
}

/** The body, unpacked, as long as it is within the limit. */
async function readBody(
  response: Response,
  maxBytes: number,
): Promise<Result<Uint8Array, "too-long" | "cut-off">> {
  if (response.body === null) return ok(new Uint8Array());
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body) {
      length += chunk.length;
      if (length > maxBytes) return err("too-long"); // leaving the loop closes the connection
      chunks.push(chunk);
    }
  } catch {
    return err("cut-off");
  }
  return ok(Buffer.concat(chunks, length));
}

function isHtml(response: Response): boolean {
  return /^\s*(?:text\/html|application\/xhtml)/i.test(response.headers.get("content-type") ?? "");
}

function errorIn(
  bytes: Result<Uint8Array, unknown>,
  isWebPage: boolean,
  messageOf: HttpClientOptions["messageOf"],
): { readonly body?: unknown; readonly words: string } {
  if (!bytes.ok || isWebPage) return { words: "" };
  const text = new TextDecoder().decode(bytes.value).trim();
  const parsed = parseOutsideJson(text);
  if (!parsed.ok) return { words: /^[<{[]/.test(text) ? "" : text };
  return { body: parsed.value, words: messageOf?.(parsed.value) || errorText(parsed.value) };
}

// ---- Addresses ----

/** One path segment that holds any text. */
export function segment(text: string): string {
  // Addresses cannot express these segments: `.` and `%2E` mean the folder itself, and an empty one names the whole list (a DELETE of
  // it would erase everything). Encoded twice, or as a blank, they are an id that no server has.
  if (text === "") return "%20";
  if (text === "." || text === "..") return text.replaceAll(".", "%252E");
  return encodeURIComponent(text.toWellFormed());
}

type Base = {
  /** Without user and password. */
  readonly url: URL;
  readonly authorization?: string;
  readonly secrets: readonly string[];
};

function parseBase(text: string): Result<Base, string> {
  const url = URL.parse(text.trim());
  if (url === null) return err("it is no web address. It has to look like https://host/path");
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return err("it has to begin with http:// or https://");
  if (url.search !== "" || url.hash !== "") return err("it may not contain ? or #");
  const { username, password } = url;
  if (username === "" && password === "") return ok({ url, secrets: [] });
  url.username = "";
  url.password = "";
  const pair = `${decoded(username)}:${decoded(password)}`;
  const authorization = `Basic ${Buffer.from(pair).toString("base64")}`;
  return ok({ url, authorization, secrets: [password, username, ...secretsIn(authorization)] });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

function addressOf(base: URL, path: string, query: Query = {}): URL {
  const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`);
  for (const [name, value] of Object.entries(query)) {
    const values = Array.isArray(value) ? value : value === undefined ? [] : [value];
    for (const each of values) url.searchParams.append(name, String(each));
  }
  return url;
}

/** `Bearer <key>` is masked whole and as the key alone, `Basic <base64>` also as the password in it. */
function secretsIn(value: string): readonly string[] {
  const words = value.trim().split(/\s+/);
  const credentials = words.length > 1 ? words.slice(1) : [];
  const basic = /^basic$/i.test(words[0] ?? "") ? Buffer.from(words[1] ?? "", "base64").toString() : "";
  return [value.trim(), ...credentials, basic, basic.slice(basic.indexOf(":") + 1)];
}
