// What can go wrong with a call to a memory server: the kinds, the server's own words in an error body, the sentence for the user, and
// what the outbox does next. Pure; `http.ts` makes the calls.
import { isRecord, preview } from "@hermes-memory/core/internal/lib";
import type { Delivery } from "./outbox/outbox.ts";

export type HttpFailureKind =
  /** The breaker is open: no request was made. */
  | "paused"
  | "unreachable"
  | "timeout"
  /** The caller or the shutdown ended it. */
  | "aborted"
  /** 401, 403 */
  | "unauthorised"
  /** 402: the plan or quota does not allow it. */
  | "unpaid"
  /** 429 */
  | "throttled"
  | "not-found"
  | "conflict"
  /** Another 4xx: the request itself is wrong, sending it again does not help. Without a status: the base URL is not usable. */
  | "refused"
  /** 5xx, 408 */
  | "server"
  /** The answer is not what the service sends: not JSON, cut off, too long, a redirect to elsewhere. */
  | "bad-answer";

export type HttpFailure = {
  readonly kind: HttpFailureKind;
  /** One or two sentences without secrets: the service, what was asked, what came back, what to do. */
  readonly message: string;
  /** The service's own words, shortened, without secrets: "" when there are none. */
  readonly detail: string;
  readonly status?: number;
  /** The parsed error body, to decide by; it may hold anything, so it is not shown. */
  readonly body?: unknown;
  /** At most one hour. */
  readonly retryAfterMs?: number;
  /** The server may have done what was asked although the call failed. */
  readonly mayHaveHappened: boolean;
};

/** For a status outside 200 to 299. */
export function classify(status: number): HttpFailureKind {
  if (status === 401 || status === 403) return "unauthorised";
  if (status === 402) return "unpaid";
  if (status === 404 || status === 410) return "not-found";
  if (status === 409) return "conflict";
  if (status === 429) return "throttled";
  if (status === 408 || status >= 500) return "server";
  return status >= 400 ? "refused" : "bad-answer";
}

/** What the outbox does with a write that failed this way. */
export function deliveryOf({ kind, message, status, retryAfterMs }: HttpFailure): Delivery {
  switch (kind) {
    case "unauthorised":
    case "unpaid":
      return { kind: "blocked", reason: message };
    case "refused":
      // Without a status no server has seen the write: the base URL has to be corrected, and the write is kept until then.
      return { kind: status === undefined ? "blocked" : "refused", reason: message };
    case "not-found":
    case "conflict":
      return { kind: "refused", reason: message };
    case "paused":
    case "unreachable":
    case "timeout":
    case "aborted":
    case "throttled":
    case "server":
    case "bad-answer":
      return { kind: "later", reason: message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    default:
      return kind satisfies never;
  }
}

// ---- The server's own words ----

const MAX_DETAIL_CHARS = 300;
const CUT_MARK = "...";

/** One line of at most 300 characters. `redact` masks secrets. */
export function shortLine(text: string, redact: (text: string) => string): string {
  // Redacted before and after the blanks change: a literal may contain several blanks, and a token may end at one.
  const blanks = /[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;
  const line = redact(redact(text).toWellFormed().replace(blanks, " ").trim());
  const cut = MAX_DETAIL_CHARS - CUT_MARK.length;
  return preview(line, MAX_DETAIL_CHARS) === line ? line : preview(line, cut);
}

/** Fields that hold the words, the most telling first. */
const WORD_FIELDS = ["detail", "error", "message", "details", "msg", "error_description", "reason", "title"];
const MAX_ISSUES = 3;
const MAX_DEPTH = 5;

/** The text in an error body: `detail`, `error`, `message` and lists of issues in the shapes that servers use. "" without one. */
export function errorText(body: unknown, depth = 0): string {
  if (typeof body === "string") return body.trim();
  if (depth > MAX_DEPTH) return "";
  const textsOf = (values: readonly unknown[]): readonly string[] =>
    values.map((value) => errorText(value, depth + 1)).filter((text) => text !== "");
  if (Array.isArray(body)) return textsOf(body).slice(0, MAX_ISSUES).join("; ");
  if (!isRecord(body)) return "";
  const found = textsOf(WORD_FIELDS.map((field) => body[field]));
  // `{ error: "bad_request", message: "q is missing" }`: a code says less than a sentence. Zod puts its issues as JSON into the message.
  const words = found.find((text) => /\s/.test(text)) ?? found[0] ?? "";
  const [issues = ""] = textsOf([body.issues, body.errors]);
  const said = issues !== "" && /^\[\s*\{/.test(words) ? "" : words;
  const place = [body.loc, body.path].find((steps) => Array.isArray(steps));
  // `loc` of FastAPI and `path` of zod: where in the request the problem is.
  const where = (place ?? []).filter((step) => ["string", "number"].includes(typeof step)).slice(0, 8);
  return [where.join("."), said, issues].filter((text) => text !== "").join(": ");
}

// ---- How long to wait ----

const LONGEST_WAIT_MS = 3_600_000;
const FIRST_PAUSE_MS = 500;
const JITTER = 0.2;

/** The pause before repetition 1, 2, ...: what the server asks for, else 500 ms, doubled each time; `random` is from 0 to 1. */
export function pauseBefore(repetition: number, serverMs: number | undefined, random: number): number {
  return serverMs ?? FIRST_PAUSE_MS * 2 ** (repetition - 1) * (1 + random * JITTER);
}

/** From `retry-after-ms` or `retry-after` in seconds or as a date; a date counts from the server's own clock where it sent it. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const milliseconds = Number(headers.get("retry-after-ms") ?? Number.NaN);
  const text = headers.get("retry-after")?.trim() ?? "";
  const waitMs = Number.isFinite(milliseconds) ? milliseconds : msOf(text, headers.get("date"), nowMs);
  return waitMs === undefined ? undefined : Math.min(LONGEST_WAIT_MS, Math.max(0, Math.round(waitMs)));
}

function msOf(text: string, serverDate: string | null, nowMs: number): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1_000;
  const until = /[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(until)) return undefined;
  const serverMs = Date.parse(serverDate ?? "");
  return until - (Number.isNaN(serverMs) ? nowMs : serverMs);
}

// ---- Sentences ----

export type Asked = {
  /** "Mem0" */
  readonly service: string;
  /** "https://api.mem0.ai" */
  readonly origin: string;
  /** "POST /v3/memories/" */
  readonly what: string;
};

/** The sentence for an answer with this status. */
export function statusMessage({ service, origin, what }: Asked, status: number, detail: string): string {
  const setup = `hermes memory setup ${service.toLowerCase()}`;
  const words = detail === "" ? "." : `: ${endSentence(detail)}`;
  const answered = `${service} answered ${what} with ${status}${words}`;
  switch (classify(status)) {
    case "unauthorised":
      return `${answered} Check the API key and what it may do, or enter a new one with '${setup}'.`;
    case "unpaid":
      return `${answered} The plan or its quota does not allow this: check the account at ${service}.`;
    case "throttled":
      return `${answered} Too many requests: it is tried again later.`;
    case "not-found":
      if (
        detail !== "" &&
        !/^(?:404 )?(?:page )?not found\.?$|^cannot (?:get|post|put|patch|delete) /i.test(detail)
      )
        return answered;
      return `${answered} If nothing works: the base URL ${origin} may be wrong, or the server may be an older one without this call.`;
    case "server":
      return `${answered} The fault is at the server: it is tried again later.`;
    default:
      return answered;
  }
}

function endSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** The sentence for a connection that failed, and whether the request may have reached the server. */
export function connectionFailure(
  { service, origin, what }: Asked,
  cause: unknown,
): { readonly message: string; readonly wasSent: boolean } {
  const { code, syscall, text } = rootOf(cause);
  const isBadPort = text === "bad port";
  const wasSent = !(isBadPort || NEVER_CONNECTED.test(code) || /^(?:connect|getaddrinfo)$/.test(syscall));
  const name = code === "" ? "" : ` (${code})`;
  const known = isBadPort
    ? "requests to this port are not allowed. Use another port."
    : SENTENCES.find(([pattern]) => pattern.test(code))?.[1].replace("CODE", code);
  const why = wasSent ? `the connection was cut during ${what}` : "there is no connection";
  const sentence = known ?? `${why}${name}. Check the address, the server and the network.`;
  return { message: `${service} cannot be reached at ${origin}: ${sentence}`, wasSent };
}

const SENTENCES: readonly (readonly [code: RegExp, sentence: string])[] = [
  [/^ECONNREFUSED$/, "the connection was refused. Start the server, or correct its address."],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, "the host name was not found. Check the base URL and the network."],
  [
    /CERT|TLS|SSL|SIGNATURE|SELF_SIGNED/,
    "its certificate is not accepted (CODE). Check the base URL; NODE_EXTRA_CA_CERTS adds an authority of your own.",
  ],
];

const NEVER_CONNECTED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|EPROTO|ERR_TLS_\w+|ERR_SSL_\w+|CERT_\w+|UNABLE_TO_\w+|SELF_SIGNED_\w+|DEPTH_ZERO_\w+|HOSTNAME_MISMATCH)$/;

/** `fetch` wraps the error of the socket, sometimes twice, and several tried addresses in a list. */
function rootOf(cause: unknown, level = 0): Readonly<Record<"code" | "syscall" | "text", string>> {
  if (!(cause instanceof Error)) return { code: "", syscall: "", text: "" };
  const inner: unknown = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  if (inner instanceof Error && level < 5) return rootOf(inner, level + 1);
  const { code, syscall } = cause as { readonly code?: unknown; readonly syscall?: unknown };
  const isName = typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code);
  return { code: isName ? code : "", syscall: String(syscall ?? ""), text: cause.message };
}

export function timeoutMessage({ service, what }: Asked, timeoutMs: number | undefined): string {
  const within = timeoutMs === undefined ? "in time" : `within ${Math.round(timeoutMs) / 1_000} s`;
  return `${service} did not answer ${what} ${within}. It is slow, or something between here and the server holds the connection.`;
}

/** The sentence for an answer that the service does not send. `why` is a predicate: "is empty". */
export function oddityMessage({ service, origin, what }: Asked, status: number, why: string): string {
  return `The answer to ${what} from ${service} (${status}) ${why}. A proxy or login page may be in between, or the base URL ${origin} may be wrong.`;
}
