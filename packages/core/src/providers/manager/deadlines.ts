// How long the agent waits for a provider, in milliseconds. Nothing a provider does may cost a turn more than this.
import { AsyncLocalStorage } from "node:async_hooks";

export const DEADLINES_MS = {
  availability: 2_000,
  initialize: 10_000,
  toolSchemas: 2_000,
  systemPromptBlock: 2_000,
  /** Turn start and recall together, unless config says otherwise. */
  turnStart: 3_000,
  toolCall: 120_000,
  preCompress: 10_000,
  sessionEnd: 10_000,
  sessionSwitch: 2_000,
  /** One task of the background worker. */
  background: 120_000,
  /** Work that was handed in before a shutdown or the end of a session. */
  drain: 5_000,
  /** All providers together. With the drain, less than the 8 s a wedged provider may cost an exit. */
  shutdown: 2_500,
  /** In place of these, for all calls of one step together, where a provider is known to hang (see patience.ts). */
  hanging: 1_000,
} as const;

export type Deadlines = Readonly<Record<keyof typeof DEADLINES_MS, number>>;

/** As config wants them: 0 seconds for recall means no limit. */
export function deadlinesOf(options: {
  readonly prefetchTimeoutS?: number;
  readonly deadlinesMs?: Partial<Deadlines>;
}): Deadlines {
  const { prefetchTimeoutS: seconds = DEADLINES_MS.turnStart / 1000 } = options;
  const turnStart = seconds === 0 ? Number.POSITIVE_INFINITY : seconds * 1000;
  return { ...DEADLINES_MS, turnStart, ...options.deadlinesMs };
}

/** Tasks that wait for the background worker. More of them means that a provider has stopped working. */
export const QUEUE_LENGTH = 100;

/** A call of the turn that still runs after this long is taken for lost, and the provider is asked again. */
export const LOST_CALL_MS = 60_000;

export type Timed<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "timeout" }
  | { readonly kind: "stopped" };

export type DeadlineRules<T> = {
  /** Infinity: wait for ever. */
  readonly ms: number;
  /** The caller goes on after this long; the work still has its whole time. */
  readonly waitMs?: number;
  /** The waiting alone does not keep the process alive. */
  readonly isBackground?: boolean;
  /** Ends the waiting before the deadline. */
  readonly stop?: AbortSignal;
  /** What still comes after the deadline. */
  readonly onLate?: {
    readonly value?: (value: T) => void;
    readonly failure?: (cause: unknown) => void;
  };
};

/**
 * Waits for `work` until the deadline, then aborts its signal. A rejection in time travels on. Whoever listens to the signal runs in
 * the asynchronous context this was called in.
 */
export async function withDeadline<T>(
  { ms, waitMs = ms, isBackground = false, stop, onLate = {} }: DeadlineRules<T>,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<Timed<T>> {
  const controller = new AbortController();
  const { promise: expired, resolve } = Promise.withResolvers<Timed<T>>();
  let isLate = false;
  const goOn = (kind: "timeout" | "stopped"): void => {
    isLate = true;
    timer?.unref(); // nobody waits any more
    resolve({ kind });
  };
  const giveUp = (kind: "timeout" | "stopped", reason: DOMException): void => {
    forget();
    goOn(kind);
    controller.abort(reason);
  };
  const isBounded = ms !== Number.POSITIVE_INFINITY;
  const timer = isBounded ? setTimeout(() => giveUp("timeout", passed()), ms) : undefined;
  const impatience = waitMs < ms ? setTimeout(() => goOn("timeout"), waitMs) : undefined;
  if (isBackground) timer?.unref();
  const onStop = AsyncLocalStorage.bind(() => giveUp("stopped", unwanted()));
  stop?.addEventListener("abort", onStop, { once: true });
  const forget = (): void => {
    clearTimeout(timer);
    clearTimeout(impatience);
    stop?.removeEventListener("abort", onStop);
  };
  const answered = (async (): Promise<Timed<T>> => {
    try {
      const value = await work(controller.signal);
      if (isLate) onLate.value?.(value);
      return { kind: "done", value };
    } catch (cause) {
      if (!isLate) throw cause;
      onLate.failure?.(cause);
      return { kind: "timeout" };
    } finally {
      forget();
    }
  })();
  return Promise.race([answered, expired]);
}

function passed(): DOMException {
  return new DOMException("The deadline of this call has passed.", "TimeoutError");
}

function unwanted(): DOMException {
  return new DOMException("Nobody waits for this call any more.", "AbortError");
}
