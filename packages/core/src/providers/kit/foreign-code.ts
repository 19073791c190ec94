// Running code of a plugin: bounded in time, every thrown value turned into one line of text, and failures of work that the plugin
// started without awaiting it attributed to the plugin instead of ending the process. A plugin that blocks the event loop cannot be
// stopped from here.
import { AsyncLocalStorage } from "node:async_hooks";
import {
  describeCause,
  err,
  errnoCode,
  ok,
  preview,
  pyStrip,
  type Result,
  takeCodePoints,
} from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import type { Awaitable } from "../contract.ts";

export type ForeignFailure = {
  readonly kind: "threw" | "late";
  /** Continues a sentence after the name of what was called: `failed: ...`. No secrets, no stack, no full stop. */
  readonly message: string;
  /** Code of a system or module error; `SyntaxError` for a syntax error. */
  readonly code?: string;
};

export type ForeignRules = {
  readonly timeoutMs: number;
  /** Receives failures of work that the plugin did not await. Default: they are ignored, because the caller wants only the outcome. */
  readonly onStray?: (cause: unknown) => void;
};

export async function runForeign<T>(
  { timeoutMs, onStray = () => {} }: ForeignRules,
  work: (signal: AbortSignal) => Awaitable<T>,
): Promise<Result<T, ForeignFailure>> {
  try {
    // The deadline is set inside, so that listeners of its signal count as the plugin's code too.
    const timed = await runAsProvider(onStray, () => withDeadline<T>({ ms: timeoutMs }, work));
    if (timed.kind === "done") return ok(timed.value);
    return err({ kind: "late", message: `did not finish within ${timeoutMs / 1000} s` });
  } catch (cause) {
    const code = errnoCode(cause) ?? (cause instanceof SyntaxError ? "SyntaxError" : undefined);
    return err({ kind: "threw", message: `failed: ${describeForeign(cause)}`, code });
  }
}

const MESSAGE_CHARS = 600;
/** More than is shown, so that no secret is cut before it is masked; less than the megabytes that a plugin may throw. */
const READ_CHARS = 4_000;

/** One line without secrets about any thrown value. Some values cannot even be converted to text. */
export function describeForeign(cause: unknown): string {
  try {
    return oneLine(describeCause(cause)) || "no reason given";
  } catch {
    return "something was thrown that cannot be shown";
  }
}

/** A text of a plugin as one short line: no secrets, no control characters, no full stop or colon at the end. */
export function oneLine(text: string): string {
  const masked = redactSecrets(takeCodePoints(text, READ_CHARS));
  return preview(pyStrip(masked.replace(/[\s\p{Cc}]+/gu, " ")).replace(/[.:\s]+$/, ""), MESSAGE_CHARS);
}

// ---- Deadlines ----

export type Timed<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "timeout" }
  | { readonly kind: "stopped" };

export type DeadlineRules<T> = {
  /** Infinity: no deadline. */
  readonly ms: number;
  /** The caller goes on after this long; the work keeps running until `ms`. Default: `ms`. */
  readonly waitMs?: number;
  /** The timer does not keep the process alive. */
  readonly isBackground?: boolean;
  /** Ends the waiting before the deadline. */
  readonly stop?: AbortSignal;
  /** Called with an answer or a failure that comes after the caller went on. */
  readonly onLate?: {
    readonly value?: (value: T) => void;
    readonly failure?: (cause: unknown) => void;
  };
};

/**
 * Waits for `work` until the deadline, then aborts its signal. A rejection before the deadline is passed on. Listeners of the signal
 * run in the asynchronous context of the caller of this function.
 */
export async function withDeadline<T>(
  { ms, waitMs = ms, isBackground = false, stop, onLate = {} }: DeadlineRules<T>,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<Timed<T>> {
  const controller = new AbortController();
  const { promise: expired, resolve } = Promise.withResolvers<Timed<T>>();
  let isLate = false;
  const stopWaiting = (kind: "timeout" | "stopped"): void => {
    isLate = true;
    timer?.unref();
    resolve({ kind });
  };
  const giveUp = (kind: "timeout" | "stopped", reason: DOMException): void => {
    clear();
    stopWaiting(kind);
    controller.abort(reason);
  };
  const isBounded = ms !== Number.POSITIVE_INFINITY;
  const timer = isBounded ? setTimeout(() => giveUp("timeout", deadlinePassed()), ms) : undefined;
  const waitTimer = waitMs < ms ? setTimeout(() => stopWaiting("timeout"), waitMs) : undefined;
  if (isBackground) timer?.unref();
  const onStop = AsyncLocalStorage.bind(() => giveUp("stopped", noLongerAwaited()));
  stop?.addEventListener("abort", onStop, { once: true });
  const clear = (): void => {
    clearTimeout(timer);
    clearTimeout(waitTimer);
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
      clear();
    }
  })();
  return Promise.race([answered, expired]);
}

function deadlinePassed(): DOMException {
  return new DOMException("The deadline of this call has passed.", "TimeoutError");
}

function noLongerAwaited(): DOMException {
  return new DOMException("The caller no longer waits for this call.", "AbortError");
}

// ---- Failures of work that is not awaited ----

type OnStray = (cause: unknown) => void;

/** Which plugin an error belongs to is known from the asynchronous context it comes from. */
const owner = new AsyncLocalStorage<OnStray>();

let isListening = false;

/** Runs a plugin's code. Later failures of work that it started and did not await go to `onStray`. */
export function runAsProvider<T>(onStray: OnStray, work: () => T): T {
  listenOnce();
  return owner.run(onStray, work);
}

// For the rest of the process: unawaited work may outlive the manager that started it.
function listenOnce(): void {
  if (isListening) return;
  isListening = true;
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
}

function onRejection(reason: unknown): void {
  const onStray = owner.getStore();
  if (onStray) {
    onStray(reason);
    return;
  }
  if (process.listenerCount("unhandledRejection") > 1) return;
  // This listener alone keeps Node from its configured reaction. Reject once more without it, so that Node reacts as
  // --unhandled-rejections says; if that does not end the process, listen again.
  process.off("unhandledRejection", onRejection);
  void Promise.reject(reason);
  setImmediate(() => process.on("unhandledRejection", onRejection)).unref();
}

function onException(cause: unknown): void {
  const onStray = owner.getStore();
  if (onStray) {
    onStray(cause);
    return;
  }
  if (process.listenerCount("uncaughtException") > 1) return;
  process.off("uncaughtException", onException);
  process.nextTick(() => {
    throw cause; // without a listener it ends the process, with Node's own message and exit code
  });
}
