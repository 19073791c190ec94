// The models that may be asked for a summary: the configured one, then the main one. After a failure a model is left alone
// for a while, so that a dead model costs one timeout and not one per compaction.
import {
  type Clock,
  codePointLength,
  err,
  errnoCode,
  isRecord,
  ok,
  pyStrip,
  type Result,
  type TextModel,
  takeCodePoints,
} from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import type { Redact, SummaryFailure } from "../engine.ts";

/** Options of every engine that summarises. */
export type SummaryOptions = {
  /** Undefined: no model is configured, and everything is summarised without one. */
  readonly summarizer: TextModel | undefined;
  /** Asked when `summarizer` fails; usually the main model. */
  readonly fallbackSummarizer?: TextModel;
  /** Window of `summarizer`, in tokens. Absent: the main model's window. */
  readonly summaryContextLength?: number;
  /** Tokens the main model's server counts for each token we estimate; asked at every compaction. Absent: 1. */
  readonly tokenFactor?: () => number;
  /** The same for `summarizer`. Absent: the main model's factor. */
  readonly summaryTokenFactor?: () => number;
  /** Limit for one call. Default 120 seconds. */
  readonly summaryTimeoutMs?: number;
  readonly clock?: Clock;
  /** A clock that never goes back. Default `performance.now`. */
  readonly monotonicMs?: () => number;
  /** Takes secrets out of every text a model reads or writes. Default `redactSecrets`; the identity switches it off. */
  readonly redact?: Redact;
};

const SUMMARY_TIMEOUT_MS = 120_000;

type ModelRequest = {
  readonly prompt: string;
  readonly maxOutputTokens: number;
  readonly signal?: AbortSignal;
};

export type SummaryModel = {
  readonly rank: "first" | "second";
  readonly model: TextModel;
};

type Cooldown = { readonly until: number; readonly after: SummaryFailure };

export class SummaryModels {
  readonly #options: SummaryOptions;
  readonly #redact: Redact;
  readonly #nowMs: () => number;
  readonly #resting = new Map<TextModel, Cooldown>();

  constructor(options: SummaryOptions) {
    this.#options = options;
    this.#redact = options.redact ?? redactSecrets;
    this.#nowMs = options.monotonicMs ?? (() => performance.now());
  }

  /** Those that may be asked now, in order; otherwise the reason why none may. */
  available(): Result<readonly [SummaryModel, ...SummaryModel[]], SummaryFailure> {
    const all = this.#all();
    if (all.length === 0)
      return err(summaryFailure("no_model", "No model for summaries is configured.", this.#redact));
    const [first, ...others] = all.filter(({ model }) => this.#restOf(model) === undefined);
    if (first !== undefined) return ok([first, ...others]);
    const rests = all.flatMap(({ model }) => this.#restOf(model) ?? []);
    const soonest = Math.min(...rests.map(({ until }) => until));
    const seconds = Math.ceil((soonest - this.#nowMs()) / 1000);
    const message = `Not asked again for another ${seconds} s after: ${rests[0]?.after.message}`;
    return err(summaryFailure("cooldown", message, this.#redact));
  }

  /** Returns the answer, trimmed and without secrets. Rejects only when the caller's signal is aborted. */
  async ask({ model }: SummaryModel, request: ModelRequest): Promise<Result<string, SummaryFailure>> {
    let answer = await this.#attempt(model, request);
    // A connection that broke once usually works on the second try.
    if (!answer.ok && answer.error.kind === "connection") answer = await this.#attempt(model, request);
    if (answer.ok) this.#resting.delete(model);
    else {
      const until = this.#nowMs() + COOLDOWN_MS[answer.error.kind];
      this.#resting.set(model, { until, after: answer.error });
    }
    return answer;
  }

  /** Ends all waiting times, because the user asks for a summary now. */
  endCooldowns(): void {
    this.#resting.clear();
  }

  #all(): readonly SummaryModel[] {
    const { summarizer, fallbackSummarizer } = this.#options;
    const second = fallbackSummarizer === summarizer ? undefined : fallbackSummarizer;
    return [
      ...(summarizer ? [{ rank: "first" as const, model: summarizer }] : []),
      ...(second ? [{ rank: "second" as const, model: second }] : []),
    ];
  }

  #restOf(model: TextModel): Cooldown | undefined {
    const rest = this.#resting.get(model);
    return rest !== undefined && rest.until > this.#nowMs() ? rest : undefined;
  }

  async #attempt(model: TextModel, request: ModelRequest): Promise<Result<string, SummaryFailure>> {
    const timeoutMs = this.#options.summaryTimeoutMs ?? SUMMARY_TIMEOUT_MS;
    const redact = this.#redact;
    const { signal: outer, prompt, maxOutputTokens } = request;
    outer?.throwIfAborted();
    const own = new AbortController();
    const timer = setTimeout(() => own.abort(), timeoutMs);
    const signal = outer === undefined ? own.signal : AbortSignal.any([outer, own.signal]);
    const stopped = Promise.withResolvers<never>();
    // Settles in time even if the model ignores the signal.
    const stop = (): void => stopped.reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      const reply: unknown = await Promise.race([
        model.complete({ prompt, maxOutputTokens, signal }),
        stopped.promise,
      ]);
      return readAnswer(reply, redact);
    } catch (cause) {
      outer?.throwIfAborted();
      if (!own.signal.aborted) return err(failureOf(cause, redact));
      return err(summaryFailure("timeout", `No summary within ${timeoutMs / 1000} s.`, redact));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }
}

function readAnswer(reply: unknown, redact: Redact): Result<string, SummaryFailure> {
  const text = typeof reply === "string" ? reply : reply === null || reply === undefined ? "" : json(reply);
  const answer = pyStrip(redact(pyStrip(text)));
  if (answer === "") return err(summaryFailure("empty", "The model gave an empty answer.", redact));
  if (isRefusal(answer)) return err(summaryFailure("refused", `The model declined: ${answer}`, redact));
  return ok(answer);
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

// Failures, and how long a model is not asked after each.

type FailureKind = SummaryFailure["kind"];

/** Longest for failures that only a change of configuration can fix, shortest for a broken connection. */
const COOLDOWN_MS: Readonly<Record<FailureKind, number>> = {
  no_model: 600_000,
  connection: 30_000,
  timeout: 60_000,
  empty: 60_000,
  refused: 60_000,
  failed: 60_000,
  cooldown: 0,
  too_long: 0, // asked again at once with less text
};

const MESSAGE_CHARS = 220;

export function summaryFailure(kind: FailureKind, message: string, redact: Redact): SummaryFailure {
  const line = pyStrip(redact(message).replace(/\s+/g, " "));
  const isLong = codePointLength(line) > MESSAGE_CHARS;
  return { kind, message: isLong ? `${takeCodePoints(line, MESSAGE_CHARS - 1)}…` : line };
}

/** `cause` is anything a model threw, not necessarily an error. */
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

/** The agent's models attach a failure object with a `kind` as the cause. */
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
    return "a value that cannot be shown"; // for example an object without a prototype
  }
}

const REFUSAL =
  /^(?:(?:i[’']?m|i am) (?:very |so |really )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai\b[^.,]{0,60})?[,.!:;\s]*(?:but )?(?:i|we)(?: (?:am|are) (?:not able|unable)|[’']m (?:not able|unable)| (?:can(?:no|')t|can’t|cannot|can not|won[’']t|will not|must decline))\b/i;
const HEADING = /^#{1,3} \S/m;
/** A refusal is short. A longer answer says something about the turns. */
const REFUSAL_CHARS = 1_000;

/** True for an answer that declines to summarise. */
export function isRefusal(answer: string): boolean {
  return answer.length <= REFUSAL_CHARS && !HEADING.test(answer) && REFUSAL.test(answer);
}
