// What the vendors say when they do not answer. Clients tell errors apart by these words, codes and shapes.
import type { Failure, FailureKind } from "./script.ts";

export type VendorError = {
  readonly status?: number;
  readonly type: string;
  readonly code?: string;
  readonly message: string;
};

type Table = Readonly<Record<FailureKind, (failure: Failure, model: string) => VendorError>>;

const INVALID = "invalid_request_error";

const OPENAI: Table = {
  overflow: ({ limitTokens: limit }) => ({
    type: INVALID,
    code: "context_length_exceeded",
    message:
      limit === undefined
        ? "Your input exceeds the context window of this model."
        : `This model's maximum context length is ${limit} tokens, but the messages have ${asked(limit)} tokens.`,
  }),
  rate_limited: () => ({
    type: "requests",
    code: "rate_limit_exceeded",
    message: "Rate limit reached for requests.",
  }),
  server_error: () => ({ type: "server_error", message: "The server had an error with this request." }),
  payload_too_large: () => ({ type: INVALID, message: "Request body is too large." }),
  refused: () => ({
    type: INVALID,
    code: "content_policy_violation",
    message: "The request was rejected by the content policy.",
  }),
  bad_key: () => ({ type: INVALID, code: "invalid_api_key", message: "Incorrect API key provided." }),
  out_of_credit: () => ({
    type: "insufficient_quota",
    code: "insufficient_quota",
    message: "You exceeded your current quota, please check your plan and billing details.",
  }),
  bad_signature: () => ({
    type: INVALID,
    code: "invalid_encrypted_content",
    message: "The encrypted content of a reasoning item could not be verified.",
  }),
  not_found: (_, model) => ({
    type: INVALID,
    code: "model_not_found",
    message: `The model '${model}' does not exist or you do not have access to it.`,
  }),
};

const ANTHROPIC: Table = {
  overflow: ({ limitTokens: limit }) => ({
    type: INVALID,
    message:
      limit === undefined
        ? "prompt is too long"
        : `prompt is too long: ${asked(limit)} tokens > ${limit} maximum`,
  }),
  rate_limited: () => ({
    type: "rate_limit_error",
    message: "This request would exceed the rate limit of your organization.",
  }),
  server_error: ({ status }) =>
    status === 529
      ? { type: "overloaded_error", message: "Overloaded" }
      : { type: "api_error", message: "Internal server error" },
  payload_too_large: () => ({ type: "request_too_large", message: "Request exceeds the maximum size" }),
  refused: () => ({ type: INVALID, message: "Output blocked by content filtering policy" }),
  bad_key: () => ({ type: "authentication_error", message: "invalid x-api-key" }),
  out_of_credit: () => ({ status: 400, type: INVALID, message: "Your credit balance is too low." }),
  bad_signature: () => ({
    type: INVALID,
    message: "messages.1.content.0: Invalid `signature` in `thinking` block",
  }),
  not_found: (_, model) => ({ type: "not_found_error", message: `model: ${model}` }),
};

const GOOGLE: Table = {
  overflow: ({ limitTokens: limit }) => ({
    type: "INVALID_ARGUMENT",
    message:
      limit === undefined
        ? "The input token count exceeds the maximum number of tokens allowed."
        : `The input token count (${asked(limit)}) exceeds the maximum number of tokens allowed (${limit}).`,
  }),
  rate_limited: () => ({ type: "RESOURCE_EXHAUSTED", message: "Resource has been exhausted." }),
  server_error: ({ status }) =>
    status === 503
      ? { type: "UNAVAILABLE", message: "The model is overloaded." }
      : { type: "INTERNAL", message: "An internal error has occurred." },
  payload_too_large: () => ({ type: "INVALID_ARGUMENT", message: "Request payload size exceeds the limit." }),
  refused: () => ({ type: "INVALID_ARGUMENT", message: "The prompt was blocked by the safety policy." }),
  bad_key: () => ({
    status: 400,
    type: "INVALID_ARGUMENT",
    code: "API_KEY_INVALID",
    message: "API key not valid. Please pass a valid API key.",
  }),
  out_of_credit: () => ({
    type: "RESOURCE_EXHAUSTED",
    message: "You exceeded your current quota, please check your plan and billing details.",
  }),
  bad_signature: () => ({ type: "INVALID_ARGUMENT", message: "Thought signature is not valid." }),
  not_found: (_, model) => ({ type: "NOT_FOUND", message: `models/${model} is not found.` }),
};

const TABLES = { openai: OPENAI, anthropic: ANTHROPIC, google: GOOGLE };

/** The error in the vendor's words; a status without a kind gets the nearest one. */
export function vendorError(
  vendor: keyof typeof TABLES,
  failure: Failure,
  model: string,
): VendorError & { readonly status: number } {
  const kind = failure.kind ?? kindOfStatus(failure.status);
  const error = TABLES[vendor][kind](failure, model);
  return {
    ...error,
    status: error.status ?? failure.status,
    message: failure.message ?? error.message,
  };
}

function kindOfStatus(status: number): FailureKind {
  const kinds: Readonly<Record<number, FailureKind>> = {
    401: "bad_key",
    403: "bad_key",
    402: "out_of_credit",
    404: "not_found",
    413: "payload_too_large",
    429: "rate_limited",
  };
  return kinds[status] ?? (status >= 500 ? "server_error" : "refused");
}

/** Somewhat more than there is room for. */
function asked(limit: number): number {
  return limit + Math.ceil(limit / 20);
}
