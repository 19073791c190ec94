// Which kind of failure it was, from what servers say in their different ways. Decides who may try again and who must do something.
import type { ModelFailure, ModelFailureKind } from "../chat.ts";
import { countsFromError, limitFromError } from "../context-window/error-limit.ts";
import { type FailureFacts, failureFacts } from "./failure-facts.ts";
import { type FailurePlace, failureMessage } from "./failure-text.ts";

export type { FailurePlace } from "./failure-text.ts";

/** `partialText`: what had been told of the reply. `place`: whom to name in the message. */
export function classifyFailure(
  cause: unknown,
  partialText: string,
  place: FailurePlace = {},
  nowMs = Date.now(),
): ModelFailure {
  const facts = failureFacts(cause, nowMs);
  const kind = kindOf(facts, partialText);
  const limitTokens = kind === "overflow" ? limitFromError(facts.searchable) : undefined;
  return {
    kind,
    message: failureMessage(kind, facts, place),
    ...(facts.status === undefined ? {} : { status: facts.status }),
    isRetryable: RETRYABLE.has(kind) && !facts.codes.some((code) => CERTIFICATE.test(code)),
    ...(facts.retryAfterMs === undefined ? {} : { retryAfterMs: facts.retryAfterMs }),
    partialText,
    ...(limitTokens === undefined ? {} : { limitTokens }),
    ...(kind === "overflow" ? countsFromError(facts.searchable) : {}),
  };
}

export function stalledFailure(staleAfterMs: number, partialText: string, place: FailurePlace): ModelFailure {
  const facts = { ...NO_FACTS, sentence: `Nothing came for ${Math.round(staleAfterMs / 100) / 10} s.` };
  return {
    kind: "stalled",
    message: failureMessage("stalled", facts, place),
    isRetryable: true,
    partialText,
  };
}

/** The reply is longer than anybody could use; what has arrived is kept. */
export function tooLongFailure(limit: string, partialText: string, place: FailurePlace): ModelFailure {
  const sentence = `Its reply was stopped at ${limit}.`;
  const message = failureMessage("reply_too_long", { ...NO_FACTS, sentence }, place);
  return { kind: "reply_too_long", message, isRetryable: false, partialText };
}

/** The stream ended before the reply did. */
export function cutFailure(partialText: string, place: FailurePlace): ModelFailure {
  const kind = partialText === "" ? "invalid_response" : "connection";
  const facts = { ...NO_FACTS, sentence: "The stream ended before the reply was complete." };
  return { kind, message: failureMessage(kind, facts, place), isRetryable: true, partialText };
}

/** The server took the request and would not answer it, for `reason`. */
export function blockedFailure(reason: string, place: FailurePlace): ModelFailure {
  const kind = "content_policy";
  const facts = { ...NO_FACTS, sentence: `The prompt was blocked (${reason}).` };
  return { kind, message: failureMessage(kind, facts, place), isRetryable: false, partialText: "" };
}

/** How the SDK tells of a stream without a reason for its end. Its `finish` follows, and says whether there is a reply. */
export function isEarlyEnd(error: unknown): boolean {
  return error instanceof Error && error.message === "Response stream ended without a finish reason.";
}

const NO_FACTS: FailureFacts = {
  status: undefined,
  sentence: "",
  searchable: "",
  codes: [],
  retryAfterMs: undefined,
};

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
/** How the SDK says that a stream ended too early. */
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

/** An error in the middle of a stream, which has words but no status. */
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
  // Servers at home say it with 500.
  if (isOverflow(status, searchable)) return "overflow";
  if (status === 401 || status === 403) {
    if (QUOTA.test(searchable)) return "billing";
    return status === 403 && POLICY.test(searchable) && !KEY.test(searchable) ? "content_policy" : "auth";
  }
  if (status === 404) return "not_found";
  if (status >= 500 || status === 408) return "server";
  if (status < 400) return "bad_request"; // sent elsewhere, which is not followed
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
