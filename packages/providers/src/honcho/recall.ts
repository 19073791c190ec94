// Recall of one conversation: a base layer (what Honcho knows about user and agent) and a dialectic layer (answers of Honcho's model).
// Both are fetched after a turn for the next one. The dialectic costs money, so it has a cadence, which widens while answers are empty.
import { codePointLength, pyStrip } from "@hermes-memory/core/internal/lib";
import type { Recalled } from "../kit/networked/service.ts";
import { fitChars, fitTokens } from "../kit/provider-mode.ts";
import { type HonchoSettings, LEVELS, type Level } from "./settings.ts";
import {
  type BaseLayer,
  baseText,
  countMemories,
  cutAtWord,
  dialecticQuestion,
  isSufficient,
} from "./texts.ts";

export type RecallSettings = Pick<
  HonchoSettings,
  | "contextTokens"
  | "contextCadence"
  | "dialecticCadence"
  | "injectsFirstTurnOnly"
  | "level"
  | "hasDynamicLevel"
  | "maxAnswerChars"
  | "maxInputChars"
  | "depth"
  | "depthLevels"
  | "hasHeuristic"
  | "levelCap"
  | "includesQuery"
  | "timeoutMs"
>;

/** How recall reaches the server. Both throw `ServiceError`. */
export type RecallSource = {
  readonly fetchBase: (query: string | undefined, signal: AbortSignal) => Promise<BaseLayer>;
  readonly ask: (question: string, level: Level, signal: AbortSignal) => Promise<string>;
};

export type RecallLimits = {
  /** Longest wait of a turn. Below the manager's 3 s, so that the base layer is not lost when the model is slow. */
  readonly waitMs: number;
  readonly now: () => number;
};

const RECALL_LIMITS: RecallLimits = {
  waitMs: 2_700,
  now: () => performance.now(),
};

type Answer = { readonly text: string; readonly firedAt: number };
type Run = { readonly startedAt: number; readonly ended: Promise<void> };

const NEVER = Number.NEGATIVE_INFINITY;
/** An answer is too old after this many cadences. */
const STALE_CADENCES = 2;
const WIDEST_CADENCES = 8;

export class HonchoRecall {
  readonly #settings: RecallSettings;
  #source: RecallSource;
  readonly #limits: RecallLimits;
  #turn = 0;
  // Base layer
  #base: string | undefined;
  #baseTurn = NEVER;
  #baseRun: Promise<void> | undefined;
  /** Raised when what was fetched before must not be shown any more. */
  #version = 0;
  // Dialectic layer
  #answer: Answer | undefined;
  #dialecticRun: Run | undefined;
  #hasFired = false;
  #lastSuccess = NEVER;
  #emptyStreak = 0;
  #failure: unknown;

  constructor(settings: RecallSettings, source: RecallSource, limits: Partial<RecallLimits> = {}) {
    this.#settings = settings;
    this.#source = source;
    this.#limits = { ...RECALL_LIMITS, ...limits };
  }

  /** At the start of a conversation, before its first message: counts as turn 0. */
  prewarm(signal: AbortSignal): void {
    this.#startBase(undefined, signal);
    this.#startDialectic("", 0, signal);
  }

  /** For the turn that starts now; with `mayWait` false only what is there already. Rejects when nothing could be fetched and nothing is there. */
  async take(query: string, turn: number, signal: AbortSignal, mayWait = true): Promise<Recalled> {
    this.#turn = turn;
    if (this.#settings.injectsFirstTurnOnly && turn > 1) return { text: "", count: 0 };
    this.#failure = undefined;
    if (this.#baseTurn === NEVER) this.#startBase(query, signal);
    if (!this.#hasFired && this.#answer === undefined) this.#startDialectic(query, turn, signal);
    if (mayWait) await this.#wait();
    const text = [this.#base ?? "", this.#takeAnswer(turn)].filter((part) => part !== "").join("\n\n");
    if (text === "" && this.#failure !== undefined) throw this.#failure;
    const { contextTokens } = this.#settings;
    const fitted = contextTokens === undefined ? text : fitTokens(text, contextTokens);
    return { text: fitted, count: countMemories(fitted) };
  }

  /** After a turn, for the next one. */
  async prepare(query: string, turn: number, signal: AbortSignal): Promise<void> {
    this.#turn = turn;
    const { contextCadence } = this.#settings;
    if (contextCadence <= 1 || turn - this.#baseTurn >= contextCadence) this.#startBase(query, signal);
    if (!this.#isRunning() && turn - this.#lastSuccess >= this.#effectiveCadence())
      this.#startDialectic(query, turn, signal);
    await Promise.all([this.#baseRun, this.#dialecticRun?.ended]);
  }

  /** A tool call has asked the model: the next question can wait. */
  noteReasoning(): void {
    this.#lastSuccess = this.#turn;
    this.#emptyStreak = 0;
  }

  /** What was fetched may hold something that is gone now. Counters stay. */
  drop(): void {
    this.dropBase();
    this.#answer = undefined;
    this.#dialecticRun = undefined;
  }

  /** The conversation goes on in another session. */
  continueIn(source: RecallSource): void {
    this.drop();
    this.#source = source;
  }

  /** Fetched again at the next turn, which waits for it. */
  dropBase(): void {
    this.#version += 1;
    this.#base = undefined;
    this.#baseTurn = NEVER;
    this.#baseRun = undefined;
  }

  get turns(): number {
    return this.#turn;
  }

  // ---- Base layer

  #startBase(query: string | undefined, signal: AbortSignal): void {
    if (this.#baseRun !== undefined) return;
    const version = this.#version;
    const turn = this.#turn;
    const run = this.#source.fetchBase(query, signal).then(
      (layer) => {
        if (version !== this.#version) return;
        const text = baseText(layer);
        if (text !== "") this.#base = text;
        this.#baseTurn = turn;
      },
      (cause: unknown) => {
        this.#failure = cause;
      },
    );
    this.#baseRun = run;
    void run.then(() => {
      if (this.#baseRun === run) this.#baseRun = undefined;
    });
  }

  // ---- Dialectic layer

  #startDialectic(query: string, turn: number, signal: AbortSignal): void {
    if (this.#isRunning()) return;
    this.#hasFired = true;
    const answered = this.#askInPasses(query, signal).catch((cause: unknown) => {
      this.#failure = cause;
      return "";
    });
    const run: Run = {
      startedAt: this.#limits.now(),
      ended: answered.then((text) => {
        if (this.#dialecticRun === run) this.#finishDialectic(text, turn); // else it was dropped, or taken for dead
      }),
    };
    this.#dialecticRun = run;
  }

  #finishDialectic(text: string, turn: number): void {
    this.#dialecticRun = undefined;
    if (text === "") {
      this.#emptyStreak += 1;
      if (turn === 0) this.#hasFired = false; // nothing was known before the first message: the first turn asks itself
      return;
    }
    this.#answer = { text, firedAt: turn };
    this.#lastSuccess = turn;
    this.#emptyStreak = 0;
  }

  async #askInPasses(query: string, signal: AbortSignal): Promise<string> {
    const { depth, includesQuery, maxInputChars, maxAnswerChars } = this.#settings;
    const answers: string[] = [];
    for (let pass = 0; pass < depth; pass += 1) {
      if (pass > 0 && isSufficient(answers.at(-1) ?? "")) break;
      const message = includesQuery ? query : "";
      const question = dialecticQuestion({ isCold: this.#base === undefined, message, answers });
      const level = levelOfPass(this.#settings, pass, query);
      const answer = await this.#source.ask(cutAtWord(question, maxInputChars), level, signal);
      answers.push(fitChars(pyStrip(answer), maxAnswerChars));
    }
    return answers.findLast((answer) => answer !== "") ?? "";
  }

  #takeAnswer(turn: number): string {
    const answer = this.#answer;
    this.#answer = undefined;
    if (answer === undefined) return "";
    const isStale = turn - answer.firedAt > STALE_CADENCES * this.#settings.dialecticCadence;
    return isStale ? "" : answer.text;
  }

  /** A run that is older than two timeouts counts as dead. */
  #isRunning(): boolean {
    const run = this.#dialecticRun;
    return run !== undefined && this.#limits.now() - run.startedAt <= 2 * this.#settings.timeoutMs;
  }

  #effectiveCadence(): number {
    const { dialecticCadence } = this.#settings;
    return Math.min(dialecticCadence + this.#emptyStreak, WIDEST_CADENCES * dialecticCadence);
  }

  async #wait(): Promise<void> {
    const base = this.#baseTurn === NEVER ? this.#baseRun : undefined;
    const dialectic = this.#isRunning() ? this.#dialecticRun?.ended : undefined;
    if (base === undefined && dialectic === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#limits.waitMs);
    });
    await Promise.race([Promise.all([base, dialectic]), patience]);
    clearTimeout(timer);
  }
}

/** Thresholds in characters of the user's message. */
const LONGER_CHARS = 120;
const LONGEST_CHARS = 400;

export function levelOfPass(
  settings: Pick<
    RecallSettings,
    "level" | "hasDynamicLevel" | "hasHeuristic" | "levelCap" | "depth" | "depthLevels"
  >,
  pass: number,
  query: string,
): Level {
  const { level, depth, depthLevels } = settings;
  if (!settings.hasDynamicLevel) return level;
  const fixed = depthLevels?.[pass];
  if (fixed !== undefined) return fixed;
  if (depth > 1 && pass === 0) return "minimal";
  if (pass === 2) return "low";
  return raisedLevel(settings, query);
}

function raisedLevel(
  { level, hasHeuristic, levelCap }: Pick<RecallSettings, "level" | "hasHeuristic" | "levelCap">,
  query: string,
): Level {
  if (!hasHeuristic) return level;
  const chars = codePointLength(query);
  const steps = chars < LONGER_CHARS ? 0 : chars < LONGEST_CHARS ? 1 : 2;
  const cap = Math.max(LEVELS.indexOf(levelCap), 0);
  return LEVELS[Math.min(LEVELS.indexOf(level) + steps, cap)] ?? level;
}
