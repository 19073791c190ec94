// Refusals and failures of the gateway, and the JSON they are about. Apart from types.ts, because the wires need nothing else of it.
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";

export type JsonObject = Readonly<Record<string, unknown>>;

/** A refusal or failure. Each wire renders it in its vendor's shape; `/api` as `{ error: { code, message, hint } }`. */
export type GatewayProblem = {
  readonly status:
    | 400
    | 401
    | 403
    | 404
    | 405
    | 408
    | 409
    | 413
    | 415
    | 422
    | 429
    | 500
    | 501
    | 502
    | 503
    | 504;
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

/** Thrown inside a route; the app renders it in the route's shape. */
export class ProblemError extends Error {
  readonly problem: GatewayProblem;

  constructor(problem: GatewayProblem, options?: { readonly cause?: unknown }) {
    super(problem.message, options);
    this.name = "ProblemError";
    this.problem = problem;
  }
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

export type Problem<T> = Result<T, GatewayProblem>;

/** Of work that throws `ProblemError`. */
export function asProblem<T>(work: () => T): Problem<T> {
  try {
    return ok(work());
  } catch (cause) {
    if (cause instanceof ProblemError) return err(cause.problem);
    throw cause;
  }
}
