// Asks a provider for recall within the time a turn has. Whatever comes too late is kept for the next turn; whatever
// belongs to another session is dropped.
import { AsyncLocalStorage } from "node:async_hooks";
import { LOST_CALL_MS } from "./deadlines.ts";
import type { CallOutcome, GuardedCalls } from "./guarded-call.ts";
import { LateRecalls } from "./late-recalls.ts";
import type { Patience, StepPatience } from "./patience.ts";
import { isBlank, shortened } from "./prompt-text.ts";
import type { Registered } from "./registered.ts";

export type RecallRequest = {
  readonly query: string;
  readonly sessionId: string;
  readonly turn: number;
  /** When the turn goes on, by `performance.now()`. */
  readonly until: number;
  readonly patience: StepPatience;
};

export class Recaller {
  readonly #calls: GuardedCalls;
  readonly #patience: Patience;
  readonly #late: LateRecalls;
  readonly #maxChars: number;
  /** Aborted when what was asked for this session is of no use any more. */
  #session = new AbortController();

  constructor(
    calls: GuardedCalls,
    patience: Patience,
    limits: { readonly maxAgeTurns: number; readonly maxChars: number },
  ) {
    this.#calls = calls;
    this.#patience = patience;
    this.#maxChars = limits.maxChars;
    this.#late = new LateRecalls(limits.maxAgeTurns);
  }

  /** The raw text for this turn, else what came late for an earlier one, else "". */
  async recall(registered: Registered, request: RecallRequest): Promise<string> {
    const { signal: session } = this.#session;
    const fresh = await this.#ask(registered, request, session);
    if (session.aborted) return ""; // a switch while we waited: this belongs to the conversation before it
    const late = this.#late.take(registered.name, request);
    return isBlank(fresh) ? late : fresh;
  }

  forgetSession(): void {
    this.#session.abort();
    this.#session = new AbortController();
    this.#late.clear();
  }

  async #ask(registered: Registered, request: RecallRequest, session: AbortSignal): Promise<string> {
    const { query, sessionId, turn, until, patience } = request;
    const rules = {
      registered,
      hook: "prefetch" as const,
      deadlineMs: Math.max(0, until - performance.now()),
      isOneAtATime: true,
      patience,
      onLate: (text: unknown) => {
        if (typeof text !== "string" || session.aborted) return;
        // "" may be all that is left of a question that was given up.
        if (!isBlank(text)) this.#patience.alive(registered.name);
        this.#late.keep(registered.name, { sessionId, turn, text: shortened(text, this.#maxChars) });
      },
    };
    const outcome: CallOutcome<unknown> = await this.#calls.call<unknown>(rules, () =>
      whileWanted(session, (signal) =>
        registered.provider.prefetch?.(query, { session_id: sessionId, signal }),
      ),
    );
    return outcome.kind === "ok" && typeof outcome.value === "string" ? outcome.value : "";
  }
}

/**
 * The signal outlives the deadline, because a late answer is still wanted: it is aborted by a switch of the session, or when the call
 * is taken for lost. Bound, so that listeners run as the provider whoever switches.
 */
async function whileWanted(session: AbortSignal, work: (signal: AbortSignal) => unknown): Promise<unknown> {
  const wanted = new AbortController();
  const stop = AsyncLocalStorage.bind(() => wanted.abort());
  const timer = setTimeout(stop, LOST_CALL_MS).unref();
  session.addEventListener("abort", stop, { once: true });
  try {
    return await work(wanted.signal);
  } finally {
    clearTimeout(timer);
    session.removeEventListener("abort", stop);
  }
}
