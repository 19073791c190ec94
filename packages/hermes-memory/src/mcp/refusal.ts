// How a failed request is told: in the shape of the tools, or as an error of the protocol.

import { describeCause, HermesError } from "@hermes-memory/core/lib";
import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";

/** The protocol's own code for a resource that is not there; the SDK has no name for it. */
const RESOURCE_NOT_FOUND = -32002;

export type Refusal = { readonly error: string; readonly success: false };

/** Becomes an error response. The SDK takes code and message as they are. */
export class RequestRefused extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = "RequestRefused";
    this.code = code;
  }
}

export function refusal(error: string): Refusal {
  return { error, success: false };
}

export function invalidParams(message: string): RequestRefused {
  return new RequestRefused(ErrorCode.InvalidParams, message);
}

export function resourceNotFound(message: string): RequestRefused {
  return new RequestRefused(RESOURCE_NOT_FOUND, message);
}

/** What happened and what to do, in one text. */
export function sentenceFor(cause: unknown): string {
  const message = describeCause(cause);
  return cause instanceof HermesError && cause.hint !== undefined ? `${message} ${cause.hint}` : message;
}
