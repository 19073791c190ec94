// Asks one provider for recall within the time a turn has. An answer that comes too late is kept for the next turn of the same session;
// an answer for another session is dropped.
import { AsyncLocalStorage } from "node:async_hooks";
import { isRecord, preview } from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import type { MemoryProvider, RecallStatus } from "../contract.ts";
import { LOST_CALL_MS } from "../kit/breaker.ts";
import type { GuardedProvider } from "./guarded-provider.ts";
import { isBlank, shortened } from "./provider-text.ts";

export type RecallRequest = {
  readonly query: string;
  readonly sessionId: string;
  readonly turn: number;
  readonly deadlineMs: number;
};

export type RecallLimits = { readonly maxAgeTurns: number; readonly maxChars: number };

export type Recalled = {
  readonly text: string;
  /** The provider answered within this turn. False for a text of an earlier turn that came too late for it. */
  readonly isFresh: boolean;
};

type LateRecall = { readonly sessionId: string; readonly turn: number; readonly text: string };

export class Recall {
  readonly #guarded: GuardedProvider;
  readonly #limits: RecallLimits;
  #late: LateRecall | undefined;
  /** Aborted when recall for the current session is no longer needed. */
  #session = new AbortController();

  constructor(guarded: GuardedProvider, limits: RecallLimits) {
    this.#guarded = guarded;
    this.#limits = limits;
  }

  /** The raw text for this turn, or else a late text of an earlier turn, or else "". */
  async ask(request: RecallRequest): Promise<Recalled> {
    const { signal: session } = this.#session;
    const fresh = await this.#fresh(request, session);
    if (session.aborted) return { text: "", isFresh: false }; // the session changed meanwhile: the text belongs to the old one
    const late = this.#takeLate(request);
    return isBlank(fresh) ? { text: late, isFresh: false } : { text: fresh, isFresh: true };
  }

  forgetSession(): void {
    this.#session.abort();
    this.#session = new AbortController();
    this.#late = undefined;
  }

  async #fresh({ query, deadlineMs, ...stamp }: RecallRequest, session: AbortSignal): Promise<string> {
    const onLate = (text: unknown): void => {
      if (typeof text !== "string" || session.aborted) return;
      // A provider that cancels its request may answer "", which does not show that its service is alive.
      if (!isBlank(text)) this.#guarded.breaker.succeeded();
      this.#keepLate({ ...stamp, text: shortened(text, this.#limits.maxChars) });
    };
    const ask = (provider: MemoryProvider) =>
      untilUnwanted(session, (signal) => provider.prefetch?.(query, { session_id: stamp.sessionId, signal }));
    const rules = { deadlineMs, isOneAtATime: true, onLate };
    const outcome = await this.#guarded.call<unknown>("prefetch", rules, ask);
    return outcome.kind === "ok" && typeof outcome.value === "string" ? outcome.value : "";
  }

  /** Of two late answers the one for the later turn is kept, in whichever order they come. */
  #keepLate(late: LateRecall): void {
    if ((this.#late?.turn ?? late.turn) <= late.turn) this.#late = late;
  }

  /** "" when there is none for this session that is recent enough. */
  #takeLate(now: { readonly sessionId: string; readonly turn: number }): string {
    const late = this.#late;
    this.#late = undefined;
    if (late === undefined || late.sessionId !== now.sessionId) return "";
    return now.turn - late.turn <= this.#limits.maxAgeTurns ? late.text : "";
  }
}

/**
 * Runs `work` with a signal that outlives the deadline, because a late answer is still used: it is aborted when the session changes, or
 * when the call is taken for lost. Bound to the caller's asynchronous context, so that listeners count as the provider's code.
 */
async function untilUnwanted(session: AbortSignal, work: (signal: AbortSignal) => unknown): Promise<unknown> {
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

const LABEL_CHARS = 40;
const GLYPH_CHARS = 8;

/** A plugin wrote it, so every field is checked. Undefined when nothing was recalled or a field is unusable. */
export function readRecallStatus(status: unknown): RecallStatus | undefined {
  const { provider_label, count, glyph } = isRecord(status) ? status : {};
  const label = shortLine(provider_label, LABEL_CHARS);
  if (label === "" || typeof count !== "number" || !Number.isSafeInteger(count) || count < 1)
    return undefined;
  return { provider_label: label, count, glyph: shortLine(glyph, GLYPH_CHARS) };
}

function shortLine(value: unknown, maxChars: number): string {
  const text = typeof value === "string" ? value.replace(/[\s\p{Cc}]+/gu, " ").trim() : "";
  return preview(redactSecrets(text), maxChars);
}
