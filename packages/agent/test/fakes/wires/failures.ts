// What the vendors say when they do not answer. Clients tell errors apart by these words, codes and shapes.
import type { Failure, FailureKind } from "./script.ts";

export type VendorError = {
  readonly status: number;
  readonly type: string;
  readonly code?: string | undefined;
  readonly message: string;
};

/** Type and message of the error, its code, and a status in place of the usual one. `{model}`, `{limit}`, `{asked}` are filled in. */
type Row = readonly [type: string, message: string, code?: string, status?: number];

/** `window`: an overflow that states the limit. `overloaded`: the server error that means so. */
type Table = Readonly<Record<FailureKind | "window" | "overloaded", Row>>;

const INVALID = "invalid_request_error";
const ARGUMENT = "INVALID_ARGUMENT";
const QUOTA = "You exceeded your current quota, please check your plan and billing details.";
const OPENAI_WINDOW =
  "This model's maximum context length is {limit} tokens, but the messages have {asked} tokens.";
const OPENAI_SIGNATURE = "The encrypted content of a reasoning item could not be verified.";
const OPENAI_GONE = "The model '{model}' does not exist or you do not have access to it.";
const GOOGLE_TOKENS = "the maximum number of tokens allowed";

const TABLES = {
  openai: {
    overflow: [INVALID, "Your input exceeds the context window of this model.", "context_length_exceeded"],
    window: [INVALID, OPENAI_WINDOW, "context_length_exceeded"],
    rate_limited: ["requests", "Rate limit reached for requests.", "rate_limit_exceeded"],
    server_error: ["server_error", "The server had an error with this request."],
    overloaded: ["server_error", "The server had an error with this request."],
    payload_too_large: [INVALID, "Request body is too large."],
    refused: [INVALID, "The request was rejected by the content policy.", "content_policy_violation"],
    bad_key: [INVALID, "Incorrect API key provided.", "invalid_api_key"],
    out_of_credit: ["insufficient_quota", QUOTA, "insufficient_quota"],
    bad_signature: [INVALID, OPENAI_SIGNATURE, "invalid_encrypted_content"],
    not_found: [INVALID, OPENAI_GONE, "model_not_found"],
  },
  anthropic: {
    overflow: [INVALID, "prompt is too long"],
    window: [INVALID, "prompt is too long: {asked} tokens > {limit} maximum"],
    rate_limited: ["rate_limit_error", "This request would exceed the rate limit of your organization."],
    server_error: ["api_error", "Internal server error"],
    overloaded: ["overloaded_error", "Overloaded"],
    payload_too_large: ["request_too_large", "Request exceeds the maximum size"],
    refused: [INVALID, "Output blocked by content filtering policy"],
    bad_key: ["authentication_error", "invalid x-api-key"],
    out_of_credit: [INVALID, "Your credit balance is too low.", undefined, 400],
    bad_signature: [INVALID, "messages.1.content.0: Invalid `signature` in `thinking` block"],
    not_found: ["not_found_error", "model: {model}"],
  },
  google: {
    overflow: [ARGUMENT, `The input token count exceeds ${GOOGLE_TOKENS}.`],
    window: [ARGUMENT, `The input token count ({asked}) exceeds ${GOOGLE_TOKENS} ({limit}).`],
    rate_limited: ["RESOURCE_EXHAUSTED", "Resource has been exhausted."],
    server_error: ["INTERNAL", "An internal error has occurred."],
    overloaded: ["UNAVAILABLE", "The model is overloaded."],
    payload_too_large: [ARGUMENT, "Request payload size exceeds the limit."],
    refused: [ARGUMENT, "The prompt was blocked by the safety policy."],
    bad_key: [ARGUMENT, "API key not valid. Please pass a valid API key.", "API_KEY_INVALID", 400],
    out_of_credit: ["RESOURCE_EXHAUSTED", QUOTA],
    bad_signature: [ARGUMENT, "Thought signature is not valid."],
    not_found: ["NOT_FOUND", "models/{model} is not found."],
  },
} satisfies Readonly<Record<string, Table>>;

const KINDS: Readonly<Record<number, FailureKind>> = {
  ...{ 401: "bad_key", 402: "out_of_credit", 403: "bad_key", 404: "not_found" },
  ...{ 413: "payload_too_large", 429: "rate_limited" },
};

/** The error in the vendor's words; a status without a kind gets the nearest one. */
export function vendorError(vendor: keyof typeof TABLES, failure: Failure, model: string): VendorError {
  const {
    status,
    limitTokens: limit,
    kind = KINDS[status] ?? (status >= 500 ? "server_error" : "refused"),
  } = failure;
  const isOverloaded = kind === "server_error" && (status === 529 || status === 503);
  const row = isOverloaded ? "overloaded" : kind === "overflow" && limit !== undefined ? "window" : kind;
  const [type, message, code, own]: Row = TABLES[vendor][row];
  const values: Readonly<Record<string, unknown>> = { model, limit, asked: Math.ceil((limit ?? 0) * 1.05) };
  const filled = message.replace(/\{(\w+)\}/g, (_all, name: string) => String(values[name]));
  return { type, code, status: own ?? status, message: failure.message ?? filled };
}
