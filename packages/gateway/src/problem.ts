// Refusals and failures of the gateway: how errors become problems, what users read of them, and their shapes in the vendors' protocols.
import type { ModelFailure } from "@hermes-memory/agent/internal/models";
import { HermesError, withoutUndefined } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";

export type JsonObject = Readonly<Record<string, unknown>>;

/** A refusal or failure. Each wire renders it in its vendor's shape; `/api` as `{ error: { code, message, hint } }`. */
export type GatewayProblem = {
  readonly status: keyof typeof ANTHROPIC_TYPES;
  /** Stable, kebab-case: `bad-token`, `no-model`, `would-be-lost`, ... */
  readonly code: string;
  /** What happened and why. Never a secret, never a text of a message. */
  readonly message: string;
  /** What to do. */
  readonly hint?: string;
  /** The field of the request that is wrong. */
  readonly param?: string;
  readonly retryAfterSeconds?: number;
  /** Trying again changes nothing, though clients do so after such a status. They are told in a header. */
  readonly isLasting?: boolean;
};

/** Thrown by everything that refuses a request; the app renders it in the route's shape. */
export class ProblemError extends Error {
  readonly problem: GatewayProblem;

  constructor(problem: GatewayProblem, options?: { readonly cause?: unknown }) {
    super(problem.message, options);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

export function refused(
  status: GatewayProblem["status"],
  code: string,
  more: Omit<GatewayProblem, "status" | "code">,
): ProblemError {
  return new ProblemError({ status, code, ...more });
}

// ---- From errors ----

type Kind = Pick<GatewayProblem, "status" | "code" | "isLasting">;

const FAILED: Kind = { status: 502, code: "model-failed" };
const BAD_REQUEST: Kind = { status: 400, code: "model-bad-request" };
const TOO_LONG: Kind = { status: 400, code: "context-too-long" };

/** What is wrong when a model does not answer, whoever asked it. */
export const MODEL_PROBLEMS: Readonly<Record<ModelFailure["kind"], Kind>> = {
  auth: { status: 502, code: "model-auth", isLasting: true },
  billing: { status: 502, code: "model-billing", isLasting: true },
  rate_limit: { status: 429, code: "model-rate-limit" },
  overflow: TOO_LONG,
  payload_too_large: TOO_LONG,
  content_policy: { status: 400, code: "content-policy" },
  bad_signature: BAD_REQUEST,
  bad_request: BAD_REQUEST,
  not_found: { status: 502, code: "model-not-found", isLasting: true },
  stalled: { status: 504, code: "model-timeout" },
  server: FAILED,
  connection: FAILED,
  invalid_response: FAILED,
  reply_too_long: FAILED,
};

/** Of a model that did not answer. */
export function ofModelFailure({ kind, message, retryAfterMs }: ModelFailure): GatewayProblem {
  const retryAfterSeconds = retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1000);
  return { ...MODEL_PROBLEMS[kind], message, retryAfterSeconds };
}

const STATUSES: readonly (readonly [GatewayProblem["status"], RegExp])[] = [
  // Of a model: not 503, because clients would repeat the request, which cannot help.
  [404, /^unknown-(?:session|chat|message|parent)$|^memory-no-match$|^no-model$/],
  [
    409,
    /-busy$|^(?:lease|lock)-lost$|^memory-(?:undo-conflict|ambiguous|drift)$|^already-continued$|^title-taken$/,
  ],
  [403, /^memory-(?:denied|disabled)$/],
  [422, /^memory-(?:over-limit|blocked)$/],
  [
    503,
    /-closed$|^session-db-|^memory-(?:locked|io)$|^config$|^(?:home-not-usable|write-failed|not-synced)$|-unavailable$/,
  ],
  [
    400,
    /^bad-(?:user-id|chat-id|message|option|search|limit|session-id|tool)$|^empty-message$|^title-too-long$|^not-a-user-message$|^query-too-complex$|^memory-(?:empty|missing-arg|invalid-content|bad-target|bad-action)$/,
  ],
];

/** Of a `HermesError` (docs/errors.md). */
function ofHermesError({ code: given, message, hint }: HermesError): GatewayProblem {
  const code = /^model-(?:no-model|no-key|unknown-provider|bad-address)$/.test(given) ? "no-model" : given;
  const status = STATUSES.find(([, pattern]) => pattern.test(code))?.[0] ?? 500;
  return { status, code, message, hint, ...(code.endsWith("-busy") && { retryAfterSeconds: 5 }) };
}

/** The client went away, or the server stops. */
export function stoppedProblem(isStopping: boolean): GatewayProblem {
  return isStopping
    ? {
        status: 503,
        code: "stopping",
        message: "The server is stopping, so the reply was interrupted. What was written of it is stored.",
        hint: "Send the request again when it is up.",
        retryAfterSeconds: 5,
      }
    : {
        status: 408,
        code: "client-gone",
        message: "The client closed the connection, so the reply was interrupted.",
      };
}

type Shown = {
  /** May read what names files and settings of the server. */
  readonly isTrusted: boolean;
  readonly log: Logger;
  /** Of the request, for the log. */
  readonly about: Readonly<Record<string, unknown>>;
};

/** What the caller is told. The rest is in the log. */
export function shownProblem(cause: unknown, { isTrusted, log, about }: Shown): GatewayProblem {
  const isProblem = cause instanceof ProblemError;
  const known = cause instanceof HermesError ? ofHermesError(cause) : undefined;
  const problem = isProblem ? cause.problem : known;
  if (problem !== undefined && (isProblem || problem.status < 500)) {
    const shown = isTrusted ? problem : forUsers(problem);
    if (shown !== problem) log.warn(problem.message, { ...about, code: problem.code });
    return shown;
  }
  log.error("A request failed", { ...about, cause });
  if (isTrusted && problem !== undefined) return problem;
  const request = about.id === undefined ? "" : ` (request ${about.id})`;
  if (problem?.status === 503)
    return {
      status: 503,
      code: problem.code,
      message: `The server cannot use its memory at the moment${request}.`,
      hint: "Try again later. Whoever runs the server finds the reason in its log and with 'hermes doctor'.",
    };
  return {
    status: 500,
    code: "internal",
    message: `The server failed to answer this request${request}.`,
    hint: "Whoever runs the server finds this id in its log.",
  };
}

const ABOUT_THE_SERVER = /^(?:no-model|model-|upstream-|config$|turn-failed$)/;

const IN_SHORT: Readonly<Record<string, string>> = {
  "no-model": "This server has no model that could answer.",
  "model-rate-limit": "The model takes no more requests at the moment.",
  "model-timeout": "The model did not answer in time.",
};

/** For users of the server: without addresses, names of settings and other facts about it, which its owner reads in the log. */
export function forUsers(problem: GatewayProblem): GatewayProblem {
  if (!ABOUT_THE_SERVER.test(problem.code)) return problem;
  return {
    ...problem,
    message: IN_SHORT[problem.code] ?? "The model could not answer this request.",
    hint: "Whoever runs this server finds the reason in its log.",
  };
}

// ---- In the vendors' shapes: their clients choose the class of their exception by the HTTP status, and show the message ----

/** OpenAI's `type`. Statuses that OpenAI does not use have the type of their class. */
const OPENAI_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

/** Codes by which clients of OpenAI decide what to do: shorten the conversation, wait, or tell the user. */
const OPENAI_CODES: Readonly<Record<string, string>> = {
  "context-too-long": "context_length_exceeded",
  "model-rate-limit": "rate_limit_exceeded",
  "model-billing": "insufficient_quota",
};

export function openAiProblem({ status, code, message, hint, param }: GatewayProblem): JsonObject {
  const type = OPENAI_TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
  const text = sentences(message, hint);
  return { error: { message: text, type, param: param ?? null, code: OPENAI_CODES[code] ?? code } };
}

const ANTHROPIC_TYPES = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  405: "invalid_request_error",
  408: "timeout_error",
  409: "conflict_error",
  413: "request_too_large",
  415: "invalid_request_error",
  422: "invalid_request_error",
  429: "rate_limit_error",
  500: "api_error",
  501: "api_error",
  502: "api_error",
  503: "overloaded_error",
  504: "timeout_error",
} as const;

const PROMPT_TOO_LONG = "prompt is too long";

/** Anthropic has no field for the name of a wrong field, so the message begins with it, as theirs do. Our code is in `details`. */
export function anthropicProblem({ status, code, message, hint, param }: GatewayProblem): JsonObject {
  const isTooLong = code === TOO_LONG.code && !message.includes(PROMPT_TOO_LONG);
  // Claude Code and others compact the conversation when they read these words.
  const text = (isTooLong ? `${PROMPT_TOO_LONG}: ` : "") + sentences(message, hint);
  const error = withoutUndefined({
    type: ANTHROPIC_TYPES[status],
    message: param === undefined ? text : `${param}: ${text}`,
    details: { error_code: code },
  });
  return { type: "error", error };
}

function sentences(message: string, hint: string | undefined): string {
  return hint === undefined ? message : `${message} ${hint}`;
}
