// The model's server of a proxied request: which one it is, what it may be sent, and the connection to it. A credential of the client goes
// to the vendor of the client's own protocol, or to the server that config names for it, and nowhere else.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import {
  type ApiMode,
  apiAddress,
  type ChosenModel,
  chooseModel,
  classifyFailure,
  parseBaseUrl,
  safeAddress,
} from "@hermes-memory/agent/internal/models";
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { errnoCode } from "@hermes-memory/core/internal/lib";
import { forUsers, ofModelFailure } from "../problem.ts";
import { type ModelTurn, ProblemError, refused } from "../types.ts";
import type { WireName } from "../wires/wire.ts";
import { headerForUsers, isUsersRequest, SHOWN_HEADERS, withoutAccount } from "./users-may.ts";

export type Upstream = {
  readonly chosen: ChosenModel;
  /** Undefined: the model speaks another protocol than the client, and the request is translated. */
  readonly url: string | undefined;
  /** The key is the client's own. */
  readonly isClientsKey: boolean;
};

type Server = { readonly mode: ApiMode; readonly path: string; readonly vendor: string };

/** `vendor`: where a client's own credential may go. */
const SERVERS: Readonly<Record<WireName, Server>> = {
  chat: { mode: "chat_completions", path: "/chat/completions", vendor: "api.openai.com" },
  responses: { mode: "responses", path: "/responses", vendor: "api.openai.com" },
  messages: { mode: "anthropic_messages", path: "/messages", vendor: "api.anthropic.com" },
};

const OUR_NAMES: ReadonlySet<string> = new Set([
  "",
  "hermes",
  "hermes-memory",
  "hermes-agent",
  "default",
  "auto",
]);

/** A name by which clients ask for the configured model. */
export function isOwnModelName(name: string): boolean {
  return OUR_NAMES.has(name.trim().toLowerCase());
}

type Question = Pick<ModelTurn, "clientCredential"> & {
  readonly wire: WireName;
  readonly model: string;
  readonly config: HermesConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** Throws a `ProblemError` that says what to set. */
export function chooseUpstream(question: Question): Upstream {
  const { wire, model, config, env, clientCredential } = question;
  const asked = isOwnModelName(model) ? undefined : model;
  const own = chooseModel({ flags: { model: asked }, env, config });
  if (own.ok) {
    const upstream = placed(wire, own.value, false);
    const theirs = { ...upstream, chosen: { ...upstream.chosen, apiKey: credentialText(clientCredential) } };
    const isWanted =
      own.value.apiKey === "" && clientCredential !== undefined && config.gateway.forwardCredentials;
    return isWanted && mayHaveClientsKey(question, theirs) ? { ...theirs, isClientsKey: true } : upstream;
  }
  if (own.error.kind === "no_key" && clientCredential !== undefined && config.gateway.forwardCredentials) {
    const apiKey = credentialText(clientCredential);
    const theirs = chooseModel({ flags: { model: asked, apiKey }, env, config });
    const upstream = theirs.ok ? placed(wire, theirs.value, true) : undefined;
    if (upstream !== undefined && mayHaveClientsKey(question, upstream)) return upstream;
  }
  const { message, hint } = own.error;
  throw refused(404, "no-model", { message, hint, param: "model" }); // not 503: clients would repeat the request, and nothing would change
}

function credentialText(credential: Question["clientCredential"]): string {
  return credential?.value.replace(/^Bearer\s+/i, "") ?? "";
}

function placed(wire: WireName, given: ChosenModel, isClientsKey: boolean): Upstream {
  // OpenAI's own server has both of its protocols.
  const isOpenAi =
    given.provider === "openai" &&
    hostOf(given) === SERVERS.chat.vendor &&
    wire !== "messages" &&
    given.apiMode !== "google";
  const { mode, path } = SERVERS[wire];
  const chosen = isOpenAi ? { ...given, apiMode: mode } : given;
  const url = chosen.apiMode === mode ? `${apiAddress(chosen)}${path}` : undefined;
  return { chosen, url, isClientsKey };
}

function mayHaveClientsKey({ wire, config }: Question, { chosen, url }: Upstream): boolean {
  if (url === undefined) return false;
  if (hostOf(chosen) === SERVERS[wire].vendor && url.startsWith("https:")) return true;
  const configured = safeAddress(config.model.baseUrl);
  return configured !== "" && safeAddress(chosen.baseUrl) === configured;
}

function hostOf(chosen: ChosenModel): string | undefined {
  return parseBaseUrl(apiAddress(chosen))?.hostname.toLowerCase();
}

// ---- Headers ----

/** Of the client: the vendor's own, and those that say which program asks. */
const PASSED =
  /^(?:anthropic-.+|openai-.+|x-stainless-.+|user-agent|x-app|originator|x-codex-.+|http-referer|x-title|idempotency-key)$/;
/** They belong to the client's own key. */
const OF_THE_KEY = /^(?:openai-organization|openai-project|chatgpt-account-id)$/;

export function requestHeaders(
  turn: Pick<ModelTurn, "headers" | "clientCredential" | "identity">,
  upstream: Upstream,
): Headers {
  const { chosen, isClientsKey } = upstream;
  const isForUser = isUsersRequest(turn, upstream);
  const sent = new Headers();
  for (const [name, value] of turn.headers) {
    const passed = isForUser ? headerForUsers(name, value) : value;
    if (passed !== undefined && (OF_THE_KEY.test(name) ? isClientsKey : PASSED.test(name)))
      sent.set(name, passed);
  }
  sent.set("content-type", "application/json");
  sent.set("accept-encoding", "identity"); // the reply is read along
  const isAnthropic = chosen.apiMode === "anthropic_messages";
  if (isAnthropic && !sent.has("anthropic-version")) sent.set("anthropic-version", "2023-06-01");
  if (isClientsKey && turn.clientCredential !== undefined)
    sent.set(turn.clientCredential.header, turn.clientCredential.value);
  else if (chosen.apiKey !== "")
    sent.set(
      isAnthropic ? "x-api-key" : "authorization",
      isAnthropic ? chosen.apiKey : `Bearer ${chosen.apiKey}`,
    );
  return sent;
}

/** Of the server: about one connection, about cookies, or of no use behind us. */
const KEPT_BACK =
  /^(?:connection|keep-alive|proxy-.+|te|trailer|transfer-encoding|upgrade|content-length|content-encoding|set-cookie2?|date|server|via|alt-svc|strict-transport-security|access-control-.+|content-security-policy.*|x-frame-options|x-hermes-.+|location|nel|report-to)$/;

export function responseHeaders(given: Headers): Headers {
  const kept = new Headers();
  for (const [name, value] of given) if (!KEPT_BACK.test(name)) kept.append(name, value);
  return kept;
}

// ---- The connection ----

export type UpstreamReply = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readable;
};

export type SendOptions = { readonly headers: Headers; readonly body: string; readonly signal: AbortSignal };

/**
 * Without a timeout: `fetch` gives up after five minutes of silence, and models think longer. Follows no redirect, because the key would go
 * along.
 */
export class UpstreamConnections {
  readonly #http = new HttpAgent({ keepAlive: true });
  readonly #https: HttpsAgent;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    // As Node's own agents do when this variable is set.
    const proxyEnv = env.NODE_USE_ENV_PROXY === "1" ? { proxyEnv: { ...env } } : {};
    this.#https = new HttpsAgent({ keepAlive: true, ...proxyEnv });
  }

  /** Rejects with the signal's reason, or a `ProblemError`. */
  async send(address: string, options: SendOptions): Promise<UpstreamReply> {
    try {
      return await this.#once(address, options);
    } catch (cause) {
      options.signal.throwIfAborted();
      // A server may close an idle connection at the moment we use it again. Nothing was answered: a new one is tried once.
      if (cause instanceof UnusedConnection) return this.#once(address, options, true);
      throw cause;
    }
  }

  #once(address: string, { headers, body, signal }: SendOptions, isFresh = false): Promise<UpstreamReply> {
    const { promise, resolve, reject } = Promise.withResolvers<UpstreamReply>();
    const url = new URL(address);
    const isTls = url.protocol === "https:";
    const agent = isFresh ? false : isTls ? this.#https : this.#http;
    const bytes = Buffer.from(body);
    const fields = { ...Object.fromEntries(headers), "content-length": String(bytes.length) };
    const call = (isTls ? httpsRequest : httpRequest)(url, { method: "POST", headers: fields, agent });
    const abort = (): void => void call.destroy(new Error("aborted"));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    call.once("close", () => signal.removeEventListener("abort", abort));
    call.once("response", (answer) => {
      const { statusCode: status = 502 } = answer;
      if (status >= 300 && status < 400) {
        answer.resume();
        reject(redirected(address));
      } else resolve({ status, headers: headersOf(answer), body: decompressed(answer) });
    });
    call.once("error", (cause) => {
      if (signal.aborted) reject(signal.reason);
      else if (call.reusedSocket && errnoCode(cause) === "ECONNRESET") reject(new UnusedConnection());
      else reject(unreachable(address, cause));
    });
    call.end(bytes);
    return promise;
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

class UnusedConnection extends Error {}

/** We ask for plain bytes, and some servers compress nevertheless. */
function decompressed(answer: IncomingMessage): Readable {
  const decoder = {
    gzip: createGunzip,
    "x-gzip": createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  }[answer.headers["content-encoding"]?.trim().toLowerCase() ?? ""];
  if (decoder === undefined) return answer;
  const plain = decoder();
  answer.once("error", (cause) => plain.destroy(cause));
  plain.once("close", () => answer.destroy());
  return answer.pipe(plain);
}

function headersOf(answer: IncomingMessage): Headers {
  const all = Object.entries(answer.headersDistinct);
  return new Headers(
    all.flatMap(([name, values = []]) => values.map((value): [string, string] => [name, value])),
  );
}

function unreachable(address: string, cause: unknown): ProblemError {
  const why = errnoCode(cause) ?? "the connection failed";
  const message = `The model's server at ${safeAddress(address)} cannot be reached (${why}).`;
  const hint = "Check that it runs, and model.base_url in config.yaml.";
  return new ProblemError({ status: 502, code: "upstream-unreachable", message, hint }, { cause });
}

function redirected(address: string): ProblemError {
  const message = `The model's server at ${safeAddress(address)} redirects to another address. It is not followed, because the key would go along.`;
  const hint = "Set model.base_url in config.yaml to the server's final address.";
  return refused(502, "upstream-redirects", { message, hint });
}

// ---- The answer ----

export function isReply({ status }: UpstreamReply): boolean {
  return status >= 200 && status <= 299;
}

export function isEventStream({ headers }: UpstreamReply): boolean {
  return /\btext\/event-stream\b/i.test(headers.get("content-type") ?? "");
}

export const MOST_ERROR_BYTES = 1024 * 1024;

export async function wholeBody(
  { body }: UpstreamReply,
  limit = Number.POSITIVE_INFINITY,
): Promise<Buffer<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    pieces.push(chunk);
    length += chunk.length;
    if (length > limit) break;
  }
  return Buffer.concat(pieces) as Buffer<ArrayBuffer>;
}

/** Servers send usage after the end, and close the connection. One that does not is not waited for. */
const AFTER_END_MS = 1_000;

export async function* untilEnd(
  body: AsyncIterable<Uint8Array>,
  isEnding: () => boolean,
): AsyncGenerator<Uint8Array, void> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = chunks.next();
      const step = await (isEnding() ? Promise.race([next, silence()]) : next);
      if (step === undefined || step.done) {
        next.catch(() => {}); // nobody waits for it
        return;
      }
      yield step.value;
    }
  } finally {
    await chunks.return?.();
  }
}

function silence(): Promise<undefined> {
  return sleep(AFTER_END_MS, undefined, { ref: false });
}

/** Failures that the user's own request has: the vendor's words say what to change. */
const OF_THE_REQUEST = /^(?:bad_request|overflow|payload_too_large|content_policy|bad_signature|not_found)$/;

/** What may be shown of an answer: to a user nothing about the account, to the owner all but the key, which servers quote. */
export async function shownReply(
  reply: UpstreamReply,
  turn: ModelTurn,
  upstream: Upstream,
): Promise<UpstreamReply> {
  const { status } = reply;
  const { apiKey } = upstream.chosen;
  const isUsers = isUsersRequest(turn, upstream);
  if (upstream.isClientsKey || (!isUsers && (isReply(reply) || apiKey === ""))) return reply;
  const keyless = (text: string): string => (apiKey === "" ? text : text.replaceAll(apiKey, "***"));
  const headers = new Headers();
  for (const [name, value] of reply.headers)
    if (!isUsers || SHOWN_HEADERS.test(name)) headers.append(name, keyless(value));
  if (isReply(reply)) return { ...reply, headers }; // `cleanEvents` and `cleanBody` see to errors in it
  const said = keyless((await wholeBody(reply, MOST_ERROR_BYTES)).toString("utf8"));
  const as = (text: string, shown = status) => ({
    status: shown,
    headers,
    body: Readable.from([Buffer.from(text)]),
  });
  if (!isUsers) return as(said);
  const [responseBody, responseHeaders] = [withoutAccount(said), Object.fromEntries(reply.headers)];
  const failure = classifyFailure({ statusCode: status, responseBody, responseHeaders }, "");
  if (OF_THE_REQUEST.test(failure.kind)) return as(responseBody);
  const problem = ofModelFailure(failure);
  turn.gateway.log.warn(problem.message, { code: problem.code, status });
  headers.set("content-type", "application/json");
  if (problem.isLasting) headers.set("x-should-retry", "false");
  return as(JSON.stringify(turn.wire.renderProblem(forUsers(problem))), problem.status);
}

/** An answer that is no reply: an error of the vendor, in the vendor's words. */
export function relayedAsIs(reply: UpstreamReply, own: Readonly<Record<string, string>>): Response {
  const { status } = reply;
  const body = status === 204 || status === 304 ? null : ReadableStream.from<Uint8Array>(reply.body);
  return new Response(body, { status, headers: withOwn(reply, own) });
}

export function withOwn(reply: UpstreamReply, own: Readonly<Record<string, string>>): Headers {
  const headers = responseHeaders(reply.headers);
  for (const [name, value] of Object.entries(own)) headers.set(name, value);
  return headers;
}
