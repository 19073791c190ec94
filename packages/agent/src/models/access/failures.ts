// Failed model calls: which kind of failure it was, from what servers say in their different ways; whether a retry can help; and
// a message that says what happened and what to do. Errors are read by their fields, so that no class of the SDK is needed.
import { outsideJsonOr, preview, pyStrip } from "@hermes-memory/core/internal/lib";
import { createRedactor, redactSecrets } from "@hermes-memory/core/internal/security";
import { isLoopback, parseBaseUrl } from "../base-url.ts";
import type { ModelFailure, ModelFailureKind, ModelIdentity } from "../chat.ts";
import { findProvider } from "../choice/providers.ts";
import { countsFromError, limitFromError } from "../context-window/error-limit.ts";
import { asList, asRecord, someText } from "../json-fields.ts";

/** The server that the message is about. */
export type FailurePlace = {
  readonly identity?: ModelIdentity;
  /** Never shown; masked when a server repeats it. */
  readonly apiKey?: string;
  /** `ANTHROPIC_API_KEY`, `config`, `flag`, ... */
  readonly keySource?: string;
};

type FailureFacts = {
  readonly status: number | undefined;
  /** The server's message on one line; "" when there is none. It may still be long and contain secrets. */
  readonly sentence: string;
  /** All texts of the error, in lower case, to search for words. */
  readonly searchable: string;
  /** Codes and names of the error and its causes: `ECONNREFUSED`, `AI_JSONParseError`, ... */
  readonly codes: readonly string[];
  readonly retryAfterMs: number | undefined;
};

/** `partialText`: the part of the reply that listeners already have. `place`: the server to name in the message. */
export function classifyFailure(
  cause: unknown,
  partialText: string,
  place: FailurePlace = {},
  nowMs = Date.now(),
): ModelFailure {
  const facts = failureFacts(cause, nowMs);
  const kind = kindOf(facts, partialText);
  return {
    kind,
    message: failureMessage(kind, facts, place),
    status: facts.status,
    isRetryable: RETRYABLE.has(kind) && !facts.codes.some((code) => CERTIFICATE.test(code)),
    retryAfterMs: facts.retryAfterMs,
    partialText,
    limitTokens: kind === "overflow" ? limitFromError(facts.searchable) : undefined,
    ...(kind === "overflow" ? countsFromError(facts.searchable) : {}),
  };
}

/** A failure that we noticed ourselves, without an error of the server. */
export function ownFailure(
  kind: ModelFailureKind,
  sentence: string,
  partialText: string,
  place: FailurePlace,
): ModelFailure {
  const facts = { status: undefined, sentence, searchable: "", codes: [], retryAfterMs: undefined };
  const message = failureMessage(kind, facts, place);
  return { kind, message, isRetryable: RETRYABLE.has(kind), partialText };
}

/** How the SDK reports a stream without a finish reason. Its `finish` part follows and says whether there is a reply. */
export function isEarlyEnd(error: unknown): boolean {
  return error instanceof Error && error.message === "Response stream ended without a finish reason.";
}

const RETRYABLE: ReadonlySet<ModelFailureKind> = new Set([
  "rate_limit",
  "server",
  "connection",
  "stalled",
  "invalid_response",
]);

const SOCKET =
  /^(?:E(?:CONN\w+|PIPE|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH|NETDOWN|TIMEDOUT|ADDRNOTAVAIL)|UND_ERR_\w+|ERR_(?:TLS|SSL|SOCKET|STREAM)_\w+|TimeoutError|ConnectionRefused|FailedToOpenSocket)$/;
const CERTIFICATE = /CERT|SELF_SIGNED|^ERR_(?:TLS|SSL)_/;
const SOCKET_WORDS =
  /fetch failed|cannot connect to api|terminated|socket hang up|other side closed|network error/;
const UNREADABLE =
  /^AI_(?:JSONParse|TypeValidation|InvalidResponseData|EmptyResponseBody|NoContentGenerated|NoOutputGenerated)Error$/;
const OUR_MISTAKE =
  /^AI_(?:UnsupportedFunctionality|InvalidPrompt|InvalidArgument|LoadAPIKey|LoadSetting)Error$/;
/** The SDK's words for a stream that ended too early. */
const ENDED_EARLY = /without a finish reason|stream (?:was )?interrupted/;

const OVERFLOW =
  /context[_ ]length[_ ]exceeded|exceed_context_size|context[_ -]?(?:length|size|window|limit)[^.]{0,80}(?:exceed|overflow|too small|reached)|(?:exceed|overflow|larger than|greater than|too long for|longer than|beyond)[^.]{0,80}context|prompt is too long|prompt too long|input is too long|input token count|input length[^.]{0,40}exceed|maximum (?:context|prompt|input) length|too many (?:input )?tokens|string_above_max_length|model_context_window_exceeded|max_prompt_tokens|context the overflows|reduce the length of the (?:messages|prompt|input)/;
const RATE_WORDS = /tokens? per (?:second|minute|min|hour|day)|\btpm\b|\brpm\b|rate[_ -]?limit/;
const QUOTA =
  /insufficient[_ ](?:quota|credits?|balance|funds)|credit balance is too low|exceeded your current quota|billing[_ ](?:hard[_ ]limit|not[_ ]active)|out of credits|more credits|payment required|key limit exceeded|spending limit|no credits/;
const KEY =
  /api[_ ]key[_ ]invalid|api key not valid|invalid (?:x-)?api[_ -]?key|incorrect api key|authentication_error|invalid_api_key|no auth credentials|unauthori[sz]ed/;
const POLICY =
  /content[_ ](?:policy|filter|management)|content_policy_violation|safety system|responsible ?ai|usage polic|prohibited_content|flagged|moderation|data_inspection_failed|blocked (?:by|due to|for) (?:the |our )?(?:safety|content)/;
const SIGNATURE =
  /signature|encrypted[_ ]content|redacted_thinking|thinking`? block|(?:expected|must start with)[^.]{0,40}thinking|type ['"`]?reasoning['"`]?|reasoning item/;
const MODEL_GONE =
  /model[_ ]not[_ ]found|no (?:such|endpoints found for) ?model|not a valid model|model [^.]{0,100}(?:does not exist|not found|not supported|is not available)|no endpoints found|unknown model/;
const BUSY = /overloaded|unavailable|at capacity|try again later|server_error|internal server error/;

function kindOf(facts: FailureFacts, partialText: string): ModelFailureKind {
  const { status, searchable, codes } = facts;
  if (status !== undefined && (status < 200 || status >= 300)) return kindOfStatus(status, facts);
  if (ENDED_EARLY.test(searchable)) return partialText === "" ? "invalid_response" : "connection";
  if (codes.some((code) => SOCKET.test(code) || CERTIFICATE.test(code))) return "connection";
  if (codes.some((code) => OUR_MISTAKE.test(code))) return "bad_request";
  if (codes.some((code) => UNREADABLE.test(code)) || status !== undefined) return "invalid_response";
  if (SOCKET_WORDS.test(searchable)) return "connection";
  return kindOfEvent(facts);
}

/** For an error event within a stream, which has words but no status. */
function kindOfEvent({ searchable }: FailureFacts): ModelFailureKind {
  if (OVERFLOW.test(searchable) && !RATE_WORDS.test(searchable)) return "overflow";
  if (QUOTA.test(searchable)) return "billing";
  if (RATE_WORDS.test(searchable)) return "rate_limit";
  if (KEY.test(searchable)) return "auth";
  if (POLICY.test(searchable)) return "content_policy";
  if (BUSY.test(searchable)) return "server";
  return /"?error"?/.test(searchable) ? "server" : "invalid_response";
}

function kindOfStatus(status: number, facts: FailureFacts): ModelFailureKind {
  const { searchable } = facts;
  if (status === 413) return "payload_too_large";
  if (status === 402) return "billing";
  if (status === 429) return isOutOfCredit(facts) ? "billing" : "rate_limit";
  // Before the other statuses: local servers report an overflow with status 500.
  if (isOverflow(status, searchable)) return "overflow";
  if (status === 401 || status === 403) {
    if (QUOTA.test(searchable)) return "billing";
    return status === 403 && POLICY.test(searchable) && !KEY.test(searchable) ? "content_policy" : "auth";
  }
  if (status === 404) return "not_found";
  if (status >= 500 || status === 408) return "server";
  if (status < 400) return "bad_request"; // a redirect, which is not followed
  if (KEY.test(searchable)) return "auth";
  if (QUOTA.test(searchable)) return "billing";
  if (SIGNATURE.test(searchable)) return "bad_signature";
  if (POLICY.test(searchable)) return "content_policy";
  return MODEL_GONE.test(searchable) ? "not_found" : "bad_request";
}

function isOverflow(status: number, searchable: string): boolean {
  if (RATE_WORDS.test(searchable) || status === 401 || status === 403) return false;
  if (OVERFLOW.test(searchable)) return true;
  return status === 400 && limitFromError(searchable) !== undefined;
}

/** Google calls a limit per minute a quota too, and then says when to come back. */
function isOutOfCredit({ searchable, retryAfterMs }: FailureFacts): boolean {
  if (/insufficient[_ ](?:quota|credits?|balance|funds)|credit balance/.test(searchable)) return true;
  return QUOTA.test(searchable) && retryAfterMs === undefined;
}

// The facts in an error, whatever was thrown: an error of the SDK, a server's error event, a broken socket

/** Some servers repeat the whole request in their error. */
const SEARCHED_CHARS = 20_000;

function failureFacts(cause: unknown, nowMs: number): FailureFacts {
  const chain = causesOf(cause);
  const error = chain.find((each) => statusOf(each) !== undefined) ?? asRecord(cause);
  const body = someText(error.responseBody) ?? "";
  const answer = parsed(body) ?? error.data ?? (cause instanceof Error ? undefined : cause);
  const sentence = oneLine(serverSentence(answer) ?? ownWords(cause, body));
  const details = typeof answer === "object" && answer !== null ? json(answer) : body;
  const all = [sentence, ...chain.map(({ message }) => someText(message) ?? ""), details].join("\n");
  const headers = asRecord(error.responseHeaders);
  return {
    status: statusOf(error) ?? statusIn(answer),
    sentence,
    searchable: all.slice(0, SEARCHED_CHARS).toLowerCase(),
    codes: chain.flatMap(({ code, name }) =>
      [someText(code), someText(name)].filter((each) => each !== undefined),
    ),
    retryAfterMs: retryAfter(headers, nowMs) ?? retryDelay(details),
  };
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfter(headers: Readonly<Record<string, unknown>>, nowMs: number): number | undefined {
  const field = (name: string): string | undefined => {
    const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
    return someText(found?.[1])?.trim();
  };
  const exact = Number(field("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return Math.round(exact);
  const given = field("retry-after");
  if (given === undefined || given === "") return undefined;
  const seconds = Number(given);
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.round(seconds * 1000) : undefined;
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** Google puts it into the body: `"retryDelay": "34s"`. */
function retryDelay(details: string): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(details)?.[1];
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1000);
}

function causesOf(cause: unknown): readonly Readonly<Record<string, unknown>>[] {
  const chain: Readonly<Record<string, unknown>>[] = [];
  for (let at = cause, depth = 0; typeof at === "object" && at !== null && depth < 6; depth += 1) {
    // A cast instead of a copy: some fields of an error are not its own properties.
    const error = at as Record<string, unknown>;
    chain.push(error);
    at = error.cause ?? asList(error.errors)[0];
  }
  return chain;
}

function statusOf({ statusCode, status }: Readonly<Record<string, unknown>>): number | undefined {
  return httpStatus(statusCode) ?? httpStatus(status);
}

/** The status in an error event: OpenRouter's `code`, Google's `error.code`. */
function statusIn(answer: unknown): number | undefined {
  const outer = asRecord(Array.isArray(answer) ? answer[0] : answer);
  const inner = asRecord(outer.error);
  return [inner.code, inner.status, outer.code, outer.status_code]
    .map(httpStatus)
    .find((found) => found !== undefined);
}

function httpStatus(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && number >= 200 && number <= 599 ? number : undefined;
}

/** The message, from the fields that the usual servers put it into. */
function serverSentence(answer: unknown): string | undefined {
  if (typeof answer === "string") return someText(answer.trim());
  const outer = asRecord(Array.isArray(answer) ? answer[0] : answer);
  const failed = asRecord(asRecord(outer.response).error);
  const inner = asRecord(outer.error);
  // A gateway's own message only says "Provider returned error"; `metadata.raw` has that provider's message.
  const behind = asRecord(inner.metadata ?? outer.metadata).raw;
  const raw = typeof behind === "string" ? (serverSentence(parsed(behind)) ?? behind) : undefined;
  const validation = asList(outer.detail).map((entry) => someText(asRecord(entry).msg));
  return (
    someText(raw) ??
    someText(inner.message) ??
    someText(failed.message) ??
    someText(outer.error) ??
    someText(outer.message) ??
    someText(outer.detail) ??
    someText(validation.filter((each) => each !== undefined).join("; "))
  );
}

function ownWords(cause: unknown, body: string): string {
  const isPage = /^\s*</.test(body); // a proxy's error page
  if (body !== "" && !isPage) return body;
  return cause instanceof Error ? cause.message : (someText(cause) ?? "");
}

function oneLine(text: string): string {
  return pyStrip(text.slice(0, SEARCHED_CHARS).replace(/\s+/g, " "));
}

function parsed(text: string): unknown {
  return text === "" ? undefined : outsideJsonOr(text, undefined);
}

/** Fields in which servers repeat the request. Words in there belong to the conversation and say nothing about the failure. */
const REPEATED = new Set(["input", "messages", "prompt", "contents"]);

function json(value: object): string {
  try {
    return JSON.stringify(value, (key, field) => (REPEATED.has(key) ? undefined : field)) ?? "";
  } catch {
    return "";
  }
}

// The message: what happened, with the server's own words if there are any, and what to do

const SENTENCE_CHARS = 300;

function failureMessage(kind: ModelFailureKind, facts: FailureFacts, place: FailurePlace): string {
  const redact = place.apiKey ? createRedactor([place.apiKey]) : redactSecrets;
  const said = preview(redact(facts.sentence), SENTENCE_CHARS); // masked first: a key cut in two would not be found
  const status = facts.status === undefined ? "" : ` (HTTP ${facts.status})`;
  const quoted = said === "" ? "." : `: ${/[.!?…]$/.test(said) ? said : `${said}.`}`;
  const isRefused = kind === "connection" && facts.codes.includes("ECONNREFUSED");
  const isRedirect = kind === "bad_request" && facts.status !== undefined && facts.status < 400;
  const happened = isRefused ? "No server answers at {address}" : HAPPENED[kind];
  const advice = isRedirect ? NO_REDIRECT : isRefused && isLocal(place) ? NOT_RUNNING : ADVICE[kind];
  return `${filled(happened, place)}${status}${quoted} ${redact(filled(advice, place))}`.trim();
}

const HAPPENED: Readonly<Record<ModelFailureKind, string>> = {
  auth: "{server} refused the key",
  billing: "{server} requires payment",
  rate_limit: "{server} got too many requests",
  overflow: "The conversation is too long for {model}",
  payload_too_large: "The request is too large for {inside}",
  content_policy: "{server} declined the request because of its content",
  bad_signature: "{server} did not accept earlier reasoning of this conversation",
  bad_request: "{server} did not accept the request",
  not_found: "{server} does not have {model}",
  server: "{server} failed",
  connection: "The connection to {inside} broke",
  stalled: "{server} stopped sending",
  invalid_response: "{server} sent an answer that cannot be used",
  reply_too_long: "{server} sent a reply without an end",
};

const ADVICE: Readonly<Record<ModelFailureKind, string>> = {
  auth: "Check {key}, or run 'hermes setup'.",
  billing: "Check the account's balance and limits, or choose another model with 'hermes model set'.",
  rate_limit: "Wait a moment, or choose another model with 'hermes model set'.",
  overflow: "Shorten it with /compress, or use a model with a larger window.",
  payload_too_large: "Send less at once, or shorten the conversation with /compress.",
  content_policy: "Put it differently, or use another model.",
  bad_signature: "It is left out when the request is sent again.",
  bad_request: "See 'hermes model test', and check model.api_mode and model.base_url.",
  not_found: "Check the name with 'hermes model list', and model.base_url when it is set.",
  server: "Try again in a moment; 'hermes model test' shows whether it answers.",
  connection: "Check the network and model.base_url; 'hermes model test' tries again.",
  stalled: "Try again; 'hermes model test' shows how long it takes to answer.",
  invalid_response: "Check model.base_url and model.api_mode with 'hermes model test'.",
  reply_too_long:
    "Ask for less at once, or use another model. If its window is larger than is known, set model.context_length.",
};
const NO_REDIRECT =
  "It redirects to another address, which is not followed: set that address as model.base_url.";
const NOT_RUNNING = "The server does not seem to run: start it, or choose another model with 'hermes setup'.";

function filled(text: string, place: FailurePlace): string {
  return text.replace(/\{(\w+)\}/g, (_all, name: string) => {
    if (name === "model")
      return place.identity === undefined ? "the model" : `the model '${place.identity.model}'`;
    if (name === "address") return address(place);
    if (name === "key") return keyPlace(place);
    // `inside`: in the middle of a sentence.
    return name === "inside" ? serverName(place).replace(/^The /, "the ") : serverName(place);
  });
}

function serverName({ identity }: FailurePlace): string {
  if (identity === undefined) return "The model's server";
  const known = findProvider(identity.provider);
  const host = identity.baseUrl === "" ? "" : (parseBaseUrl(identity.baseUrl)?.host ?? "");
  const isElsewhere = host !== "" && !(known?.host !== undefined && known.host === host);
  const name = known?.label ?? (identity.provider === "custom" ? "The server" : identity.provider);
  return isElsewhere ? `${name} at ${host}` : name;
}

function address({ identity }: FailurePlace): string {
  const url = identity === undefined ? undefined : parseBaseUrl(identity.baseUrl);
  return url === undefined ? "the model's address" : `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

function keyPlace({ identity, keySource = "" }: FailurePlace): string {
  if (/^[A-Z][A-Z0-9_]+$/.test(keySource)) return keySource;
  if (keySource === "flag") return "the key that was given";
  if (keySource === "config") return "the api_key in config.yaml";
  const [variable] = identity === undefined ? [] : (findProvider(identity.provider)?.envVars ?? []);
  return variable ?? "model.api_key in config.yaml";
}

function isLocal({ identity }: FailurePlace): boolean {
  if (identity === undefined) return false;
  const url = parseBaseUrl(identity.baseUrl);
  return findProvider(identity.provider)?.isLocal === true || (url !== undefined && isLoopback(url));
}
