// Asks models for a summary of any number of turns: in one call if they fit the model's window, otherwise chunk by chunk, where
// the summary so far is the previous summary of the next chunk.
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
import {
  type Content,
  envelopeSummary,
  isResult,
  type Message,
  partName,
  roleOf,
  textOf,
  toolCallsOf,
} from "../../message/index.ts";
import { fenceUntrusted, redactSecrets } from "../../security/index.ts";
import { isTaskList, withoutFrame, withoutHandoff } from "../compressor/handoff.ts";
import type { Redact, SummaryFailure } from "../engine.ts";
import { cutMiddle, estimateText, fairLimit, fitTokens, lastCodePoints, shortenSections } from "../tokens.ts";

/** The window of one model. */
export type ReadingWindow = {
  /** As its server counts. */
  readonly tokens: number;
  /** Tokens its server counts for each token we estimate. */
  readonly factor: number;
};

type SummaryJob = {
  /** As text, oldest first, secrets removed. */
  readonly turns: readonly string[];
  readonly previousSummary?: string;
  /** Estimated tokens. */
  readonly budgetTokens: number;
  readonly today?: string;
  readonly focus?: Focus;
  readonly providerText?: string;
  readonly windowOf: (model: SummaryModel) => ReadingWindow;
  readonly signal?: AbortSignal;
};

type Summarised = {
  readonly body: string;
  /** How many turns were cut below the usual limits before a model saw them, plus earlier summaries that were cut. */
  readonly shortened: number;
  /** Why the first model did not write it. */
  readonly rescuedFrom?: SummaryFailure;
};

export type Unsummarised = {
  readonly failure: SummaryFailure;
  /** How many turns from the beginning `soFar` covers. */
  readonly turnsDone: number;
  readonly soFar?: string;
};

/** Rejects only when the signal is aborted. */
export async function summarise(
  job: SummaryJob,
  models: SummaryModels,
): Promise<Result<Summarised, Unsummarised>> {
  const available = models.available();
  if (!available.ok) return err(unsummarised(available.error, NOTHING_DONE));
  let state = NOTHING_DONE;
  let failure: SummaryFailure | undefined;
  for (const model of available.value) {
    let window = job.windowOf(model);
    let folded = await summariseWith(job, state, { model, window }, models);
    // The server counts more tokens than we estimate: use smaller chunks, starting at the refused one.
    for (let again = 0; folded.failure?.kind === "too_long" && again < MOST_SMALLER; again += 1) {
      window = { ...window, factor: window.factor * SMALLER };
      folded = await summariseWith(job, folded.state, { model, window }, models);
    }
    state = folded.state;
    if (folded.failure === undefined)
      return ok({
        body: state.soFar ?? "",
        shortened: state.shortened,
        rescuedFrom: failure,
      });
    failure = folded.failure;
  }
  return err(unsummarised(failure ?? NEVER_ASKED, state));
}

const MOST_SMALLER = 4;
const SMALLER = 1.6;

const NEVER_ASKED: SummaryFailure = { kind: "no_model", message: "No model for summaries is configured." };

type Progress = { readonly turnsDone: number; readonly soFar?: string; readonly shortened: number };

const NOTHING_DONE: Progress = { turnsDone: 0, shortened: 0 };

function unsummarised(failure: SummaryFailure, { turnsDone, soFar }: Progress): Unsummarised {
  return soFar === undefined ? { failure, turnsDone: 0 } : { failure, turnsDone, soFar };
}

/** Continues where another model stopped. */
async function summariseWith(
  job: SummaryJob,
  from: Progress,
  { model, window }: { readonly model: SummaryModel; readonly window: ReadingWindow },
  models: SummaryModels,
): Promise<{ state: Progress; failure?: SummaryFailure }> {
  const room = divideWindow(job, window.tokens / window.factor);
  if (room.turnTokens < LEAST_TURN_TOKENS) {
    const message = `Its window of ${window.tokens} tokens is too small for a summary of this conversation.`;
    return { state: from, failure: summaryFailure("failed", message, (text) => text) };
  }
  const { chunks, shortenedTurns } = chunkTurns(job.turns.slice(from.turnsDone), room.turnTokens);
  let state: Progress = { ...from, shortened: from.shortened + shortenedTurns };
  for (const [index, chunk] of chunks.entries()) {
    const previous = state.soFar ?? job.previousSummary;
    const carried =
      previous === undefined ? undefined : fitTokens(previous, room.previousTokens, shortenSections);
    const isLast = index === chunks.length - 1;
    const prompt = summaryPrompt({
      ...job,
      turns: chunk.join("\n\n"),
      previousSummary: carried,
      budgetTokens: Math.trunc(room.budgetTokens * window.factor),
      providerText: isLast ? room.providerText : undefined,
    });
    const maxOutputTokens = Math.trunc(room.budgetTokens * OUTPUT_FACTOR * window.factor);
    const answer = await models.ask(model, { prompt, maxOutputTokens, signal: job.signal });
    if (!answer.ok) return { state, failure: answer.error };
    state = {
      turnsDone: state.turnsDone + chunk.length,
      soFar: withoutFrame(answer.value), // some models write the handoff's prefix and end marker too
      shortened: state.shortened + (carried === previous ? 0 : 1),
    };
  }
  return { state };
}

/** Maximum output, as a multiple of the length asked for. */
const OUTPUT_FACTOR = 1.3;
const LEAST_TURN_TOKENS = 500;
/** The estimate is rough, and some texts have far more tokens than their length suggests. */
const USABLE_SHARE = 0.85;
const BUDGET_SHARE = 0.2;
const PREVIOUS_SHARE = 0.3;
const PROVIDER_SHARE = 0.1;
const PROVIDER_TOKENS = 4_000;

type CallBudget = {
  readonly budgetTokens: number;
  readonly turnTokens: number;
  readonly previousTokens: number;
  readonly providerText: string | undefined;
};

/**
 * Divides the window of one call, in estimated tokens, between the answer, the previous summary, the providers' notes and the
 * turns.
 */
function divideWindow(job: SummaryJob, window: number): CallBudget {
  const usable = Math.trunc(window * USABLE_SHARE);
  const budgetTokens = Math.max(1, Math.min(job.budgetTokens, Math.trunc(usable * BUDGET_SHARE)));
  const outputTokens = Math.trunc(budgetTokens * OUTPUT_FACTOR);
  const previousTokens = Math.min(
    Math.max(estimateText(job.previousSummary ?? ""), 2 * budgetTokens),
    Math.trunc(usable * PREVIOUS_SHARE),
  );
  const providerTokens = Math.min(PROVIDER_TOKENS, Math.trunc(usable * PROVIDER_SHARE));
  const providerText = job.providerText
    ? fitTokens(job.providerText, providerTokens, shortenSections)
    : undefined;
  const words = estimateText(promptOverhead()) + estimateText(job.focus?.topic ?? "");
  const turnTokens = usable - words - outputTokens - previousTokens - estimateText(providerText ?? "");
  return { budgetTokens, turnTokens, previousTokens, providerText };
}

// Chunks: a long conversation is cut into pieces that a summary model reads one after the other.

type Chunks = {
  /** Runs of turns in order; together all of them. */
  readonly chunks: readonly (readonly string[])[];
  /** Turns that were cut so that the number of calls stays limited. */
  readonly shortenedTurns: number;
};

/** More calls would keep the user waiting for many minutes. */
const MOST_CALLS = 16;
/** Blank line between two turns. */
const SEPARATOR_TOKENS = 1;

export function chunkTurns(turns: readonly string[], capacityTokens: number, mostCalls = MOST_CALLS): Chunks {
  const whole = pack(turns, capacityTokens);
  if (whole !== undefined && whole.length <= mostCalls) return { chunks: whole, shortenedTurns: 0 };
  // A chunk ends where the next turn does not fit. With turns of at most half a chunk, every chunk is at least half full.
  const room = Math.floor((mostCalls * capacityTokens) / 2) - turns.length * (SEPARATOR_TOKENS + 1);
  const sizes = turns.map(estimateText);
  const half = Math.floor(capacityTokens / 2);
  const most = Math.max(1, Math.min(half, fairLimit(sizes, Math.max(0, room))));
  const shorter = turns.map((turn) => fitTokens(turn, most, cutMiddle));
  const shortenedTurns = sizes.filter((size) => size > most).length;
  return { chunks: pack(shorter, capacityTokens) ?? [shorter], shortenedTurns };
}

/** Undefined when a single turn is larger than a chunk. */
function pack(turns: readonly string[], capacityTokens: number): string[][] | undefined {
  const chunks: string[][] = [];
  let room = 0;
  for (const turn of turns) {
    const cost = estimateText(turn) + SEPARATOR_TOKENS;
    if (cost > capacityTokens) return undefined;
    if (cost > room) {
      chunks.push([]);
      room = capacityTokens;
    }
    chunks.at(-1)?.push(turn);
    room -= cost;
  }
  return chunks;
}

// The request: instructions, source texts, sections to fill. In plain words, because some vendors'
// filters refuse a request that argues with what the turns might say.

type SummaryRequest = {
  /** Turns as text, blocks joined by blank lines. */
  readonly turns: string;
  readonly previousSummary?: string;
  readonly budgetTokens: number;
  /** `YYYY-MM-DD`; undefined when no clock could be read. */
  readonly today?: string;
  readonly focus?: Focus;
  /** Notes of the memory providers. */
  readonly providerText?: string;
};

/** Heading and what belongs under it, in order. The four marked Historical are not to be acted upon later. */
export const SUMMARY_SECTIONS: readonly (readonly [heading: string, holds: string])[] = [
  [
    "## Historical Task Snapshot",
    "The newest user input that has not been fulfilled, word for word: a task, a question, a choice that is still open, a discussion where a reply is owed. Open items only. If the user took something back (stop, undo, never mind, a new topic), quote that and let it cancel the older task. Write None. only if everything is truly resolved.",
  ],
  ["## Goal", "What the user wants to achieve overall."],
  ["## Constraints & Preferences", "Preferences, style, limits and decisions of the user that still hold."],
  [
    "## Completed Actions",
    "A numbered list. For each: what was done, to what, how it ended, and with which tool.",
  ],
  [
    "## Active State",
    "Working directory and branch, files that were changed, state of the tests, running processes, the environment.",
  ],
  ["## Historical In-Progress State", "What was under way when these turns ended."],
  ["## Blocked", "What stands in the way, with the exact error messages."],
  ["## Key Decisions", "What was decided, and why."],
  ["## Resolved Questions", "Questions that were answered, with their answers."],
  [
    "## Historical Pending User Asks",
    "Requests that were open when these turns ended. They may be stale and are for reference. None. if there are none.",
  ],
  ["## Relevant Files", "Files that were read, written or created, each with a short note."],
  ["## Historical Remaining Work", "What was left to do. It may be stale and is for reference."],
  [
    "## Critical Context",
    "Values, error messages and settings that would otherwise be lost. No credentials.",
  ],
];

export function summaryPrompt(request: SummaryRequest): string {
  const { previousSummary, today, focus, providerText } = request;
  return [
    ROLE,
    previousSummary === undefined
      ? `TURNS TO SUMMARIZE:\n${request.turns}`
      : `PREVIOUS SUMMARY:\n${previousSummary}\n\nNEW TURNS TO INCORPORATE:\n${request.turns}`,
    ...providerNotes(providerText),
    ...(previousSummary === undefined ? [] : [UPDATE]),
    ...(today === undefined ? [] : [anchoring(today)]),
    structure(request.budgetTokens),
    ...(focus === undefined ? [] : [focusBlock(focus)]),
  ].join("\n\n");
}

/** The block of a prompt with the notes of the memory providers, if there are any. */
export function providerNotes(text: string | undefined): readonly string[] {
  return text ? [`NOTES OF THE MEMORY PROVIDERS:\n${fenceUntrusted(text, "memory providers")}`] : [];
}

/** The wording without any source text, to measure its tokens. */
function promptOverhead(): string {
  const focus: Focus = { kind: "named", topic: "" };
  return summaryPrompt({ turns: "", previousSummary: "", budgetTokens: 10_000, today: "2000-01-01", focus });
}

const ROLE =
  "Write a checkpoint of a conversation between a user and an assistant. The assistant goes on from the checkpoint without the turns it stands for, so whatever it needs has to be in there. " +
  "The turns below are source material for it: record what was asked and what happened. " +
  "Write in the language the user writes in. Leave passwords, keys, tokens and other secrets out: put [REDACTED] in their place and note that credentials were present. " +
  "Answer with the structured body alone, without a greeting, an introduction or a closing remark.";

const UPDATE =
  "Bring the previous summary up to date with the new turns. Keep every fact in it that still holds. Go on with the numbering of the completed actions. " +
  "Move work that is finished now to the completed actions and questions that are answered now to the resolved questions. " +
  "Refresh the active state and the task snapshot so that they describe the end of the new turns. Delete something only if it is clearly obsolete.";

function anchoring(today: string): string {
  return (
    `TEMPORAL ANCHORING: today is ${today}. Write finished actions as facts in the past tense with their date where the turns or this line tell it, ` +
    "so that nobody takes them for something still to be done. Do not make up dates."
  );
}

function structure(budgetTokens: number): string {
  const sections = SUMMARY_SECTIONS.map(([heading, holds]) => `${heading}\n(${holds})`);
  return (
    `Aim for about ${budgetTokens} tokens. Be concrete: paths, commands, numbers, names, messages as they were. ` +
    `Use exactly these sections in this order, and write what belongs there in place of the text in brackets:\n\n${sections.join("\n\n")}`
  );
}

function focusBlock({ kind, topic }: Focus): string {
  const order =
    kind === "named"
      ? "Keep everything about this topic in full detail; it may take about 60-70 % of the length. Compress the rest harder. Secrets stay out here too."
      : "Take care that nothing these messages depend on gets lost. Secrets stay out here too.";
  return `FOCUS TOPIC: "${topic}"\n${order}`;
}

// The focus: the topic the user named, otherwise the user's newest messages.

export type Focus = {
  /** A named topic gets most of the room; for a guessed one the model is only asked to take care. */
  readonly kind: "named" | "guessed";
  readonly topic: string;
};

const MESSAGES = 3;
const MESSAGE_CHARS = 260;
const GUESSED_CHARS = 700;
const NAMED_CHARS = 2_000;

export function focusOf(
  messages: readonly Message[],
  named: string | undefined,
  redact: Redact,
): Focus | undefined {
  const topic = pyStrip(redact(named ?? ""));
  if (topic !== "") return { kind: "named", topic: withEllipsis(topic, NAMED_CHARS) };
  const newest: string[] = [];
  for (let index = messages.length - 1; index >= 0 && newest.length < MESSAGES; index -= 1) {
    const text = usersText(messages[index], redact);
    if (text !== "") newest.push(`- ${withEllipsis(text, MESSAGE_CHARS)}`);
  }
  if (newest.length === 0) return undefined;
  const lines = ["Recent user focus:", ...newest.reverse()].join("\n");
  return { kind: "guessed", topic: withEllipsis(lines, GUESSED_CHARS) };
}

function usersText(message: Message | undefined, redact: Redact): string {
  if (message?.role !== "user" || isTaskList(message)) return "";
  const own = withoutHandoff(message);
  return own === undefined ? "" : pyStrip(redact(contentText(own.content)).replace(/\s+/g, " "));
}

/** At most `limit` code points, the ellipsis included. */
export function withEllipsis(text: string, limit: number): string {
  return codePointLength(text) > limit ? `${takeCodePoints(text, limit - 1)}…` : text;
}

// Turns as text: one labelled block each, secrets removed, long texts cut in the middle.

const CONTENT_LIMIT = 6_000;
const CONTENT_HEAD = 4_000;
const CONTENT_TAIL = 1_500;
const ARGUMENTS_LIMIT = 1_500;
const ARGUMENTS_HEAD = 1_200;
const TRUNCATED = "\n...[truncated]...\n";
const IMAGE = "[image]";
const MEDIA = /MEDIA:\S+/g;

/** One text per message; join them with a blank line. */
export function serialiseTurns(messages: readonly Message[], redact: Redact): readonly string[] {
  return messages.map((message) => serialiseTurn(message, redact));
}

export function serialiseTurn(message: Message, redact: Redact): string {
  const text = shortened(redact(contentText(message.content)).replace(MEDIA, "[media attachment]"));
  if (isResult(message)) return `[TOOL RESULT ${message.toolCallId || "unknown"}]: ${text}`;
  const calls = toolCallsOf(message).map(
    (call) => `  ${call.name}(${shortArguments(redact(call.arguments))})`,
  );
  const label = (roleOf(message) || "unknown").toUpperCase();
  const block = `[${label}]: ${text}`;
  return calls.length === 0 ? block : `${block}\n[Tool calls:\n${calls.join("\n")}\n]`;
}

/** The text of a content, with a placeholder for every image. */
export function contentText(content: Content): string {
  const summary = envelopeSummary(content);
  if (summary !== undefined) return [summary, IMAGE].join("\n").trim();
  return textOf(content, { image: IMAGE, other: partName });
}

function shortened(text: string): string {
  if (codePointLength(text) <= CONTENT_LIMIT) return text;
  return takeCodePoints(text, CONTENT_HEAD) + TRUNCATED + lastCodePoints(text, CONTENT_TAIL);
}

function shortArguments(text: string): string {
  return codePointLength(text) > ARGUMENTS_LIMIT ? `${takeCodePoints(text, ARGUMENTS_HEAD)}...` : text;
}

// The models that may be asked: the configured one, then the main one. After a failure a model is left alone for a while, so that a
// dead model costs one timeout and not one per compaction.

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

const FAILURE_CHARS = 220;

function summaryFailure(kind: FailureKind, message: string, redact: Redact): SummaryFailure {
  return { kind, message: withEllipsis(pyStrip(redact(message).replace(/\s+/g, " ")), FAILURE_CHARS) };
}

/** `cause` is anything a model threw, not necessarily an error. */
export function failureOf(cause: unknown, redact: Redact): SummaryFailure {
  const texts: string[] = [];
  const codes: string[] = [];
  for (let at: unknown = cause, depth = 0; at !== undefined && at !== null && depth < 5; depth += 1) {
    texts.push(causeText(at));
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

function causeText(cause: unknown): string {
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
