// What went wrong when a model was asked for a summary, and how long to leave it alone afterwards.
import { codePointLength, errnoCode, isRecord, pyStrip, takeCodePoints } from "../../lib/index.ts";
import type { SummaryFailure } from "../outcome.ts";
import type { Redact } from "./serialise.ts";

export type FailureKind = SummaryFailure["kind"];

/** Longest for what only a change of the configuration can heal, shortest for a line that was down. */
export const COOLDOWN_MS: Readonly<Record<FailureKind, number>> = {
  no_model: 600_000,
  connection: 30_000,
  timeout: 60_000,
  empty: 60_000,
  refused: 60_000,
  failed: 60_000,
  cooldown: 0,
  too_long: 0, // asked again at once with less
};

const MESSAGE_CHARS = 220;

export function summaryFailure(kind: FailureKind, message: string, redact: Redact): SummaryFailure {
  const line = pyStrip(redact(message).replace(/\s+/g, " "));
  const isLong = codePointLength(line) > MESSAGE_CHARS;
  return { kind, message: isLong ? `${takeCodePoints(line, MESSAGE_CHARS - 1)}…` : line };
}

/** Of whatever a model threw, which need not be an error. */
export function failureOf(cause: unknown, redact: Redact): SummaryFailure {
  const texts: string[] = [];
  const codes: string[] = [];
  for (let at: unknown = cause, depth = 0; at !== undefined && at !== null && depth < 5; depth += 1) {
    texts.push(textOf(at));
    codes.push(errnoCode(at) ?? "", at instanceof Error ? at.name : "", kindIn(at));
    at = at instanceof Error ? at.cause : undefined;
  }
  const message = texts[0] || "The model failed without saying why.";
  return summaryFailure(kindOf(texts.join("\n"), codes), message, redact);
}

/** Of the failure that a model of ours gives as the cause. */
function kindIn(cause: unknown): string {
  return isRecord(cause) && typeof cause.kind === "string" ? cause.kind : "";
}

const NO_MODEL =
  /no (?:auxiliary |summary |language )*(?:llm |model |provider |text model )+(?:is |was )?(?:configured|available|set)/i;
const TIMEOUT = /\btime(?:d )?[ -]?out\b|deadline exceeded/i;
const CONNECTION =
  /fetch failed|socket hang up|network error|connection (?:error|refused|reset|closed|aborted)|premature close|stream (?:was |is )?closed|closed stream|terminated|expecting value|unexpected end of (?:json|data|input)|not valid json/i;
const CONNECTION_CODE =
  /^(?:ECONN\w+|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|UND_ERR_(?:SOCKET|CLOSED|DESTROYED|ABORTED)|ERR_STREAM_PREMATURE_CLOSE|ERR_SOCKET_CLOSED)$/;
const TIMEOUT_CODE = /^(?:ETIMEDOUT|ESOCKETTIMEDOUT|TimeoutError|UND_ERR_(?:HEADERS|BODY|CONNECT)_TIMEOUT)$/;
const NO_MODEL_CODE = /^no[-_]model$/i;

function kindOf(text: string, codes: readonly string[]): FailureKind {
  if (codes.includes("overflow") || codes.includes("payload_too_large")) return "too_long";
  if (codes.some((code) => NO_MODEL_CODE.test(code)) || NO_MODEL.test(text)) return "no_model";
  if (codes.some((code) => TIMEOUT_CODE.test(code))) return "timeout";
  if (codes.some((code) => CONNECTION_CODE.test(code))) return "connection";
  if (TIMEOUT.test(text)) return "timeout";
  return CONNECTION.test(text) ? "connection" : "failed";
}

function textOf(cause: unknown): string {
  try {
    return cause instanceof Error ? cause.message : String(cause);
  } catch {
    return "a value that cannot be shown"; // an object without a prototype, for example
  }
}

const REFUSAL =
  /^(?:(?:i[’']?m|i am) (?:very |so |really )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai\b[^.,]{0,60})?[,.!:;\s]*(?:but )?(?:i|we)(?: (?:am|are) (?:not able|unable)|[’']m (?:not able|unable)| (?:can(?:no|')t|can’t|cannot|can not|won[’']t|will not|must decline))\b/i;
const HEADING = /^#{1,3} \S/m;
/** A refusal is short. Whatever is longer says something about the turns. */
const REFUSAL_CHARS = 1_000;

/** An answer that declines instead of summarising. */
export function isRefusal(answer: string): boolean {
  return answer.length <= REFUSAL_CHARS && !HEADING.test(answer) && REFUSAL.test(answer);
}
