// One request from its headers to the last byte of its reply: guard, caller, route, problems in the shape of the route, request id,
// metrics, span and access log. What routes do is in the files that routes.ts collects.
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";
import { errnoCode, HermesError, isRecord, parseOutsideJson } from "@hermes-memory/core/internal/lib";
import { SpanStatusCode } from "@opentelemetry/api";
import { Hono } from "hono";
import type { AccessLog } from "./access-log.ts";
import { admitUser } from "./allowance.ts";
import {
  answerHeaders,
  type BodyLimit,
  bodyLimit,
  checkForm,
  checkHost,
  checkItems,
  checkLength,
  checkOrigin,
  declaredBytes,
  type Entered,
  type GuardRequest,
  type Limits,
  limitKey,
  preflight,
  readBody,
  tooLarge,
  tooMany,
  VALUES_PER_MESSAGE,
} from "./guard.ts";
import { credentialOf, isAdministrator, personOf } from "./identity.ts";
import { hashedUser, startSpan } from "./otel.ts";
import { anthropicProblem, openAiProblem, shownProblem, stoppedProblem } from "./problem.ts";
import type { Tokens } from "./tokens.ts";
import {
  type Caller,
  type Gateway,
  type GatewayProblem,
  type GatewaySettings,
  type PersonRef,
  ProblemError,
  type RequestFacts,
  type Route,
  type RouteRequest,
  refused,
} from "./types.ts";

export type AppOptions = {
  readonly tokens: Pick<Tokens, "authenticate">;
  readonly limits: Limits;
  readonly routes: readonly Route[];
  /** Where the server listens. */
  readonly address: () => Pick<GuardRequest, "boundHost" | "port">;
  readonly accessLog: Pick<AccessLog, "write">;
  /** How long a client may take for a body. */
  readonly bodyTimeoutMs: number;
  readonly running: RunningRequests;
};

/** Requests that run, so that stopping can reach them. A list instead of one signal for all: `AbortSignal.any` keeps each listener of a signal that lives as long as the server. */
export class RunningRequests {
  readonly #all = new Map<AbortController, "subscription" | "turn">();

  add(controller: AbortController, kind: "subscription" | "turn"): () => void {
    this.#all.set(controller, kind);
    return () => void this.#all.delete(controller);
  }

  /** A subscription (GET) would never end by itself. */
  end(kind?: "subscription"): void {
    for (const [each, its] of this.#all)
      if (kind === undefined || its === kind) each.abort(new DOMException("The server stops.", "AbortError"));
  }
}

/** What Node knows of a request beyond `Request`. */
type RequestInfo = {
  readonly rawHeaders: readonly string[];
  readonly remoteAddress: string | undefined;
  /** As sent, before `..` and the like are resolved, without `pathToken`. */
  readonly target: string;
  /** A token of ours that was the first segment of the path. */
  readonly pathToken: string | undefined;
  /** Called once, when the reply was sent completely or the connection is gone. */
  onClosed(listener: (isComplete: boolean) => void): void;
};

export type App = (request: Request, info: RequestInfo) => Promise<Response>;

/** A revoked token ends its running requests after at most about twice this long. */
const RECHECK_MS = 1_000;
/** A conversation with pictures may be long; the size is limited in bytes. */
const MAX_JSON_DEPTH = 100;
const REQUEST_ID = /^[\w.:-]{1,128}$/;
const MODEL_CHARS = 100;

/** A route may set these itself. */
const ROUTES_OWN = new Set(["content-security-policy", "cache-control"]);
/** Headers of a vendor's reply that mean something else here: there are no cookies, and the guard decides about origins. */
const NEVER_SENT = /^(?:set-cookie|access-control-.*|alt-svc|strict-transport-security|nel|report-to)$/;

export function createApp(gateway: Gateway, options: AppOptions): App {
  const router = routerOf(options.routes);
  return async (request, info) => {
    const visit = new Visit(gateway, options, request, info);
    return visit.answer(async () => router.fetch(request, { visit }));
  };
}

type Env = { Bindings: { readonly visit: Visit } };

function routerOf(routes: readonly Route[]): Hono<Env> {
  const router = new Hono<Env>();
  const methods = new Map<string, string[]>();
  for (const route of routes) {
    router.on(route.method, route.path, (context) => context.env.visit.take(route, context.req.param()));
    const known = methods.get(route.path) ?? [];
    methods.set(route.path, [...known, ...(route.method === "GET" ? ["GET", "HEAD"] : [route.method])]);
  }
  for (const [path, allowed] of methods)
    router.all(path, (context) => context.env.visit.refuseMethod(allowed));
  router.notFound((context) => context.env.visit.refusePath());
  router.onError((cause) => {
    throw cause; // `Visit.answer` renders it
  });
  return router;
}

/** The same request gets the same answer. Claude Code asks for minutes after a 401 that does not say so. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 413, 415, 422, 501]);

/** One request. */
class Visit {
  readonly #gateway: Gateway;
  readonly #options: AppOptions;
  readonly #request: Request;
  readonly #info: RequestInfo;
  readonly #url: URL;
  readonly #seen: GuardRequest;
  readonly #headers: Headers;
  readonly #startedAtMs = performance.now();
  readonly #id: string;
  readonly #span: ReturnType<typeof startSpan>;
  #settings: GatewaySettings | undefined;
  #route: Pick<Route, "path" | "shape"> = { path: "unmatched", shape: "api" };
  #caller: Caller | undefined;
  #entered: Entered | undefined;
  /** Asks again, while the reply is on its way. */
  #isStillKnown: (() => Caller | GatewayProblem) | undefined;
  #facts: RequestFacts = {};
  #problem: GatewayProblem | undefined;
  /** Of every reply, also a refusal. */
  #answerHeaders: Readonly<Record<string, string>> = {
    ...answerHeaders({ kind: "none" }),
    connection: "close",
  };
  readonly #atEnd: (() => void)[] = [];
  readonly #onSent: (() => void)[] = [];

  constructor(gateway: Gateway, options: AppOptions, request: Request, info: RequestInfo) {
    this.#gateway = gateway;
    this.#options = options;
    this.#request = request;
    this.#info = info;
    this.#url = new URL(request.url);
    const headers = new Headers(request.headers);
    const sentId = headers.get("x-request-id");
    this.#id =
      sentId !== null && REQUEST_ID.test(sentId) ? sentId : `req_${randomUUID().replaceAll("-", "")}`;
    this.#span = startSpan(headers);
    this.#headers = headers;
    const { rawHeaders, target } = info;
    this.#seen = { method: request.method, url: target, rawHeaders, ...options.address() };
    this.#route = { path: "unmatched", shape: shapeOf(this.#url.pathname) };
  }

  async answer(dispatch: () => Promise<Response>): Promise<Response> {
    const reply = await this.#orProblem(async () => {
      this.#settings = (await this.#gateway.config()).gateway;
      // Where a malformed request ends is not certain either: what follows on the connection is not read.
      const { connection: _, ...headers } = this.#answerHeaders;
      checkForm(this.#seen);
      this.#answerHeaders = headers;
      checkHost(this.#seen, this.#settings);
      const origin = checkOrigin(this.#seen, this.#settings);
      this.#answerHeaders = answerHeaders(origin);
      const asked = preflight(this.#seen, origin);
      if (asked !== undefined) {
        this.#answerHeaders = asked.headers;
        return new Response(null, { status: asked.status });
      }
      const isAboutUs = ["/healthz", "/readyz"].includes(this.#url.pathname);
      if (this.#gateway.isStopping && !isAboutUs) throw new ProblemError(STOPPING);
      return dispatch();
    });
    return this.#finished(reply);
  }

  /** A route was found. */
  async take(route: Route, params: Readonly<Record<string, string>>): Promise<Response> {
    this.#route = route;
    const settings = this.#settings as GatewaySettings; // `answer` has set it
    checkLength(this.#seen, bodyLimit(route.shape, settings));
    const caller = route.access === "open" ? NOBODY : this.#authenticate(settings);
    if (route.access === "admin" && !isAdministrator(caller)) throw new ProblemError(NOT_ADMIN);
    return route.handle(this.#routeRequest(caller, params, settings), this.#gateway);
  }

  refuseMethod(allowed: readonly string[]): never {
    this.#answerHeaders = { ...this.#answerHeaders, allow: allowed.join(", ") };
    throw refused(405, "method-not-allowed", {
      message: `This address does not take ${printableMethod(this.#request.method)} requests.`,
      hint: `Send one of: ${allowed.join(", ")}.`,
    });
  }

  refusePath(): never {
    throw refused(404, "not-found", {
      message: "This server has nothing at this address.",
      hint: "Base URLs: /v1 for OpenAI clients, the server's root for Anthropic clients. docs/gateway.md lists the routes.",
    });
  }

  #authenticate(settings: GatewaySettings): Caller {
    const { tokens, limits } = this.#options;
    const { pathToken } = this.#info;
    const { token: sent } = credentialOf(this.#seen.rawHeaders, pathToken);
    const where = { isInPath: pathToken !== undefined };
    const caller = tokens.authenticate(sent, where);
    if ("status" in caller) {
      limits.failed(this.#info.remoteAddress);
      throw new ProblemError(caller);
    }
    this.#caller = caller;
    this.#isStillKnown = () => tokens.authenticate(sent, where);
    // A user that only the body names is counted with all others of its token.
    const token = `token:${caller.kind === "token" ? caller.id : ""}`;
    let counted = token;
    try {
      const person = this.#person(caller, settings);
      counted = limitKey(person.user, person.profile);
    } catch {
      // Who asks for the person is told what is wrong.
    }
    const entered = limits.enter({ user: counted, token }, settings);
    this.#entered = entered;
    this.#atEnd.push(() => entered.leave());
    return caller;
  }

  #person(caller: Caller, settings: GatewaySettings): PersonRef {
    const { env, clock } = this.#gateway;
    const { rawHeaders } = this.#seen;
    const query = this.#url.searchParams;
    return personOf({ caller, rawHeaders, settings, env, now: clock.now(), query });
  }

  #routeRequest(
    caller: Caller,
    params: Readonly<Record<string, string>>,
    settings: GatewaySettings,
  ): RouteRequest {
    const { bodyTimeoutMs } = this.#options;
    const headers = this.#headers;
    const method = this.#request.method === "HEAD" ? "GET" : this.#request.method;
    const signal = this.#signal(method === "GET" ? "subscription" : "turn");
    const limit = bodyLimit(this.#route.shape, settings);
    let reading: Promise<Uint8Array> | undefined;
    const bytes = (): Promise<Uint8Array> => {
      reading ??= this.#readBody(limit, bodyTimeoutMs);
      return reading;
    };
    return {
      url: this.#url,
      method,
      headers,
      rawHeaders: this.#seen.rawHeaders,
      params,
      caller,
      signal,
      bytes,
      json: async () => {
        const { maxMessages } = settings;
        const { value, values } = parseJsonBody(headers, await bytes(), maxMessages * VALUES_PER_MESSAGE);
        const items = checkItems(value, maxMessages);
        this.#entered?.spend("messages", Math.max(items, values / VALUES_PER_MESSAGE));
        return value;
      },
      person: async () => {
        const { user, profile } = this.#person(caller, settings);
        this.annotate({ user });
        await admitUser(this.#gateway, caller, { user, profile });
        const memory = this.#gateway.memory(profile);
        return { memory: user === undefined ? memory.owner : memory.user(user), user, profile };
      },
      annotate: (facts) => this.annotate(facts),
      onSent: (listener) => void this.#onSent.push(listener),
      work: async () => this.#entered?.work(),
    };
  }

  /** What the client declares is charged before it is read; what it sends beyond that, and what unpacking adds, as it comes. */
  async #readBody(limit: BodyLimit, timeoutMs: number): Promise<Uint8Array> {
    let paid = 0;
    const pay = (total: number): void => {
      if (total > paid) this.#entered?.spend("bytes", total - paid);
      paid = Math.max(paid, total);
    };
    pay(declaredBytes(this.#seen));
    this.#entered?.spend("messages", 0); // how many there are is known when it has been read
    const sent = await readBody(this.#request.body, {
      limit,
      timeoutMs,
      signal: this.#request.signal,
      onPiece: (more, total) => {
        this.#entered?.hold(more);
        pay(total);
      },
    });
    const plain = await decompressed(sent, this.#headers, limit);
    pay(plain.byteLength);
    if (plain !== sent) this.#entered?.hold(plain.byteLength);
    return plain;
  }

  /** Aborted when the client leaves, the server ends the request, or the token is revoked. */
  #signal(kind: "subscription" | "turn"): AbortSignal {
    const { running } = this.#options;
    const controller = new AbortController();
    const client = this.#request.signal;
    const leave = (): void => controller.abort(client.reason);
    if (client.aborted) leave();
    client.addEventListener("abort", leave, { once: true });
    const remove = running.add(controller, kind);
    const recheck = setInterval(() => {
      const known = this.#isStillKnown?.();
      if (known === undefined || !("status" in known)) return;
      // A turn that began before its token expired may finish.
      if (kind === "subscription" || known.code === "bad-token")
        controller.abort(new DOMException("The token was revoked.", "AbortError"));
    }, RECHECK_MS).unref();
    this.#atEnd.push(() => {
      client.removeEventListener("abort", leave);
      clearInterval(recheck);
      remove();
    });
    return controller.signal;
  }

  annotate(facts: RequestFacts): void {
    const sums = TOKEN_FACTS.flatMap(({ name }) => {
      const [before, more] = [this.#facts[name], facts[name]];
      return before === undefined && more === undefined ? [] : [[name, (before ?? 0) + (more ?? 0)]];
    });
    this.#facts = { ...this.#facts, ...facts, ...Object.fromEntries(sums) };
  }

  async #orProblem(work: () => Promise<Response>): Promise<Response> {
    try {
      return await work();
    } catch (thrown) {
      const isKnown = thrown instanceof ProblemError || thrown instanceof HermesError;
      const isGone = this.#request.signal.aborted && !isKnown;
      const cause = isGone ? new ProblemError(stoppedProblem(this.#gateway.isStopping)) : thrown;
      const about = { id: this.#id, route: this.#route.path };
      this.#problem = shownProblem(cause, {
        isTrusted: isTrusted(this.#caller),
        log: this.#gateway.log,
        about,
      });
      return this.#render(this.#problem);
    }
  }

  #render(problem: GatewayProblem): Response {
    const { status, retryAfterSeconds, isLasting = false } = problem;
    const headers = new Headers();
    if (isLasting || FINAL.has(status)) headers.set("x-should-retry", "false"); // the official clients of both vendors read it
    if (status === 401) headers.set("www-authenticate", 'Bearer realm="hermes-memory"');
    if (retryAfterSeconds !== undefined) headers.set("retry-after", String(Math.ceil(retryAfterSeconds)));
    // What the client still sends is not read.
    if (status === 408 || status === 413 || this.#gateway.isStopping) headers.set("connection", "close");
    const { shape } = this.#route;
    if (shape === "plain") {
      headers.set("content-type", "text/plain; charset=utf-8");
      return new Response(`${[problem.message, problem.hint].filter(Boolean).join("\n")}\n`, {
        status,
        headers,
      });
    }
    const { code, message, hint, param } = problem;
    const ofVendor = shape === "messages" ? anthropicProblem : openAiProblem;
    const body = shape === "api" ? { error: { code, message, hint, param } } : ofVendor(problem);
    headers.set("content-type", "application/json");
    return new Response(JSON.stringify(body), { status, headers });
  }

  /** The headers of every reply; the books are kept when it has been sent. */
  #finished(reply: Response): Response {
    const headers = new Headers();
    for (const [name, value] of reply.headers) if (!NEVER_SENT.test(name)) headers.set(name, value);
    for (const [name, value] of Object.entries(this.#answerHeaders))
      if (!ROUTES_OWN.has(name) || !headers.has(name)) headers.set(name, value);
    if (!headers.has("x-request-id")) headers.set("x-request-id", this.#id);
    if (this.#route.shape === "messages" && !headers.has("request-id")) headers.set("request-id", this.#id);
    const { metrics } = this.#gateway;
    metrics.observe("response_start_seconds", this.#seconds(), { route: this.#route.path });
    let isClosed = false;
    const close = (isComplete: boolean): void => {
      if (isClosed) return;
      isClosed = true;
      for (const end of this.#atEnd) end();
      if (isComplete) for (const sent of this.#onSent) sent();
      this.#record(reply.status, isComplete);
    };
    this.#info.onClosed(close);
    return new Response(reply.body, { status: reply.status, headers }); // of HEAD: Hono answers it as GET without the body
  }

  #record(status: number, isComplete: boolean): void {
    const { metrics, clock } = this.#gateway;
    const { path: route } = this.#route;
    const { mode, client, model, isStream, user } = this.#facts;
    const method = printableMethod(this.#request.method);
    const problem = this.#problem?.code;
    metrics.count("requests_total", { route, method, status: String(status) });
    metrics.observe("request_seconds", this.#seconds(), { route });
    if (problem !== undefined) metrics.count("problems_total", { code: problem });
    for (const { name, kind } of TOKEN_FACTS)
      if (this.#facts[name]) metrics.count("tokens_total", { kind }, this.#facts[name]);
    const caller = callerKind(this.#caller);
    const modelName = model?.slice(0, MODEL_CHARS);
    this.#options.accessLog.write({
      time: clock.now().toISOString(),
      id: this.#id,
      method,
      route,
      status,
      ms: Math.round(this.#seconds() * 1_000),
      caller,
      client,
      mode,
      model: modelName,
      stream: isStream,
      problem,
      aborted: isComplete ? undefined : true,
    });
    this.#span.updateName(`${method} ${route}`);
    this.#span.setAttributes({
      "http.request.method": method,
      "http.route": route,
      "http.response.status_code": status,
      "error.type": problem,
      "hermes.caller": caller,
      "hermes.client": client,
      "hermes.mode": mode,
      "hermes.user": this.#caller === undefined ? undefined : hashedUser(user),
      "hermes.aborted": isComplete ? undefined : true,
      "gen_ai.request.model": modelName,
      "gen_ai.usage.input_tokens": this.#facts.inputTokens,
      "gen_ai.usage.output_tokens": this.#facts.outputTokens,
      "hermes.usage.cache_read_tokens": this.#facts.cacheReadTokens,
      "hermes.usage.cache_write_tokens": this.#facts.cacheWriteTokens,
    });
    if (status >= 500) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end();
  }

  #seconds(): number {
    return (performance.now() - this.#startedAtMs) / 1_000;
  }
}

/** They add up over the model calls of a request. */
const TOKEN_FACTS = [
  { name: "inputTokens", kind: "input" },
  { name: "outputTokens", kind: "output" },
  { name: "cacheReadTokens", kind: "cache_read" },
  { name: "cacheWriteTokens", kind: "cache_write" },
] as const;

const STOPPING: GatewayProblem = {
  status: 503,
  code: "stopping",
  message: "The server is stopping and takes no new requests.",
  hint: "Send the request again when it has been restarted.",
  retryAfterSeconds: 5,
};

const NOT_ADMIN: GatewayProblem = {
  status: 403,
  code: "not-admin",
  message: "This address is for administrators, and the token is not an administrator's.",
  hint: "Use an admin token; 'hermes token' makes one.",
};

/** For refusals before a route is found. */
function shapeOf(path: string): Route["shape"] {
  const [, name] = /^\/(?:agent\/|proxy\/)?v1\/([a-z]*)/.exec(path) ?? [];
  if (name === undefined) return "api";
  return name === "messages" || name === "responses" ? name : "chat";
}

/** `open` routes have no caller, and no data that one could ask for. */
const NOBODY: Caller = { kind: "token", id: "", rights: { kind: "names-users", platform: "" } };

/** May read texts that name files of the server. */
function isTrusted(caller: Caller | undefined): boolean {
  return caller !== undefined && (isAdministrator(caller) || callerKind(caller) === "owner");
}

function callerKind(caller: Caller | undefined): string | undefined {
  return caller?.kind === "token" ? caller.rights.kind : caller?.kind;
}

function printableMethod(method: string): string {
  return /^[A-Z]{1,10}$/.test(method) ? method : "OTHER";
}

// ---- Bodies ----

const DECODERS: ReadonlyMap<string, typeof gunzip> = new Map([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  ["deflate", inflate],
  ["br", brotliDecompress as typeof gunzip],
  ["zstd", zstdDecompress as typeof gunzip],
]);

const CHUNK_BYTES = 1_048_576;

/** Routes see the plain body, also in the headers, which the proxy copies. */
async function decompressed(bytes: Uint8Array, headers: Headers, limit: BodyLimit): Promise<Uint8Array> {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity") return bytes;
  const decode = DECODERS.get(encoding);
  if (decode === undefined)
    throw refused(415, "bad-encoding", {
      message: "The body has a content-encoding that this server does not read.",
      hint: "Send it plainly, or with gzip, deflate, br or zstd.",
      param: "content-encoding",
    });
  try {
    // Node's chunks of 16 kB take a turn of the event loop each: 750 turns for 12 MB.
    const plain = await promisify(decode)(bytes, { maxOutputLength: limit.bytes, chunkSize: CHUNK_BYTES });
    headers.delete("content-encoding");
    headers.delete("content-length");
    return plain;
  } catch (cause) {
    if (errnoCode(cause) === "ERR_BUFFER_TOO_LARGE") throw tooLarge(limit, " when it is unpacked");
    const message = `The body is not valid ${encoding}.`;
    throw new ProblemError(
      { status: 400, code: "bad-encoding", message, param: "content-encoding" },
      { cause },
    );
  }
}

function parseJsonBody(headers: Headers, bytes: Uint8Array, maxValues: number) {
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  // A page of another origin can send forms and plain text without asking first.
  if (type !== undefined && type !== "application/json" && !type.endsWith("+json"))
    throw refused(415, "not-json", {
      message: "The body is not declared as JSON.",
      hint: "Send the header 'content-type: application/json'.",
      param: "content-type",
    });
  const limits = { maxDepth: MAX_JSON_DEPTH, maxChars: bytes.byteLength, maxValues };
  if (!isUtf8(bytes)) throw refused(400, "bad-json", { message: "The body is not valid UTF-8 text." });
  const parsed = parseOutsideJson(new TextDecoder().decode(bytes), limits);
  if (parsed.ok && isRecord(parsed.value)) return { value: parsed.value, values: parsed.values };
  const what = parsed.ok ? "is no JSON object" : parsed.error.message;
  if (!parsed.ok && parsed.error.kind === "too_many") throw tooMany(`The body ${what}`);
  throw new ProblemError({ status: 400, code: "bad-json", message: `The body ${what}.` });
}
