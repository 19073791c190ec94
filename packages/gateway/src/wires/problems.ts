// Problems in the vendors' shapes. The official clients choose the class of their exception by the HTTP status, and show the message.
import { withoutUndefined } from "@hermes-memory/core/internal/lib";
import type { GatewayProblem, JsonObject } from "../problem.ts";

type Status = GatewayProblem["status"];

/** OpenAI's `type`. Statuses that OpenAI does not use have the type of their class. */
const OPENAI_TYPES: Readonly<Partial<Record<Status, string>>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

/** Codes by which clients of OpenAI decide what to do: shorten the conversation, wait, or tell the user. */
const OPENAI_CODES: Readonly<Record<string, string>> = {
  "context-too-long": "context_length_exceeded",
  "model-overflow": "context_length_exceeded",
  "model-rate-limit": "rate_limit_exceeded",
  "model-billing": "insufficient_quota",
};

export function openAiProblem(problem: GatewayProblem): JsonObject {
  return { error: openAiError(problem) };
}

function openAiError({ status, code, message, hint, param }: GatewayProblem): JsonObject {
  const type = OPENAI_TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
  return { message: sentences(message, hint), type, param: param ?? null, code: OPENAI_CODES[code] ?? code };
}

const ANTHROPIC_TYPES: Readonly<Record<Status, string>> = {
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
};

const TOO_LONG = "prompt is too long";

/** Anthropic has no field for the name of a wrong field, so the message begins with it, as theirs do. Our code is in `details`. */
export function anthropicProblem({ status, code, message, hint, param }: GatewayProblem): JsonObject {
  const isTooLong = OPENAI_CODES[code] === "context_length_exceeded" && !message.includes(TOO_LONG);
  // Claude Code and others compact the conversation when they read these words.
  const text = (isTooLong ? `${TOO_LONG}: ` : "") + sentences(message, hint);
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
