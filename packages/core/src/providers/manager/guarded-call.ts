// One call into a provider: within its deadline, whatever it throws caught, counted, and said once.
import { describeCause, preview, pyStrip, takeCodePoints } from "../../lib/index.ts";
import type { LogFields, Logger } from "../../lib/logger.ts";
import { redactSecrets } from "../../security/index.ts";
import { LOST_CALL_MS, withDeadline } from "./deadlines.ts";
import type { HealthRecorder } from "./health-recorder.ts";
import type { Patience, StepPatience } from "./patience.ts";
import type { Hook, Registered } from "./registered.ts";
import { runAsProvider } from "./stray-errors.ts";

export type CallOutcome<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "failed" | "timeout" | "skipped" | "stopped"; readonly message: string };

export type CallRules<T> = {
  readonly registered: Registered;
  readonly hook: Hook;
  readonly deadlineMs: number;
  /** An answer after the deadline. */
  readonly onLate?: (value: T) => void;
  /** Nobody waits for this call: its deadline must not keep the process alive. */
  readonly isBackground?: boolean;
  /** Not made while an earlier one still runs: a provider that hangs costs one turn its deadline, not every turn. */
  readonly isOneAtATime?: boolean;
  /** How long all calls of this step may still be waited for when their provider hangs. Absent: the whole deadline. */
  readonly patience?: StepPatience;
};

export type GuardedCallsRules = {
  readonly log: Logger;
  readonly health: HealthRecorder;
  readonly patience: Patience;
  /** Told once per provider, in words for the user, when a call of it fails or is not answered in time. */
  readonly onTrouble?: ((text: string) => void) | undefined;
};

/** Hooks whose failures are errors rather than one warning: the model was waiting for an answer. */
const LOUD: readonly Hook[] = ["handleToolCall"];

export class GuardedCalls {
  readonly #log: Logger;
  readonly #health: HealthRecorder;
  readonly #patience: Patience;
  readonly #onTrouble: GuardedCallsRules["onTrouble"];
  readonly #troubled = new Set<string>();
  readonly #said = new Set<string>();
  /** Calls of the one-at-a-time kind, by provider and hook, and when they began. */
  readonly #running = new Map<string, number>();
  #stop = new AbortController();

  constructor({ log, health, patience, onTrouble }: GuardedCallsRules) {
    this.#log = log;
    this.#health = health;
    this.#patience = patience;
    this.#onTrouble = onTrouble;
  }

  /** Never rejects. */
  async call<T>(rules: CallRules<T>, work: (signal: AbortSignal) => T | Promise<T>): Promise<CallOutcome<T>> {
    const { registered, hook, deadlineMs, onLate, isBackground = false, isOneAtATime = false } = rules;
    const startedAt = performance.now();
    const key = keyOf(registered, hook);
    if (isOneAtATime) {
      const since = this.#running.get(key);
      if (since !== undefined && startedAt - since < LOST_CALL_MS) {
        const message = "an earlier call has not come back yet";
        this.skip(registered, hook, message);
        return { kind: "skipped", message };
      }
      this.#running.set(key, startedAt);
    }
    const waitMs = this.#waitMs(rules);
    const settled = this.#patience.begin(registered.name, deadlineMs);
    const settling = async (signal: AbortSignal): Promise<T> => {
      try {
        return await work(signal);
      } finally {
        settled(signal.aborted);
        if (this.#running.get(key) === startedAt) this.#running.delete(key);
      }
    };
    const late = {
      ...(onLate === undefined ? {} : { value: onLate }),
      failure: (cause: unknown) =>
        this.#log.debug("A late provider call failed.", {
          provider: registered.name,
          hook,
          reason: reasonOf(cause),
        }),
    };
    const limits = { ms: deadlineMs, waitMs, isBackground, stop: this.#stop.signal, onLate: late };
    try {
      // The deadline is set in there too: whoever listens to the signal is the provider, also when it throws.
      const answer = await this.#asProvider(registered, () => withDeadline(limits, settling));
      const ms = performance.now() - startedAt;
      if (rules.patience !== undefined && waitMs < deadlineMs)
        rules.patience.leftMs = Math.max(0, rules.patience.leftMs - ms);
      if (answer.kind === "done") {
        this.#health.call(registered.name, hook, { outcome: "ok", ms });
        return { kind: "ok", value: answer.value };
      }
      const noAnswer = waitMs > 0 ? `no answer within ${seconds(waitMs)} s` : NO_TIME_LEFT;
      const message = answer.kind === "timeout" ? noAnswer : STOPPED;
      this.#health.call(registered.name, hook, { outcome: "timeout", ms, message });
      if (answer.kind === "timeout") {
        this.#say(registered, hook, message);
        this.#trouble(registered, `does not answer (${hook}: ${message})`);
      }
      return { kind: answer.kind, message };
    } catch (cause) {
      return this.#failed(registered, hook, { cause, ms: performance.now() - startedAt });
    }
  }

  /** For a question that cannot wait for its answer. Never throws. */
  callNow<T>(registered: Registered, hook: Hook, work: () => T): CallOutcome<T> {
    const startedAt = performance.now();
    try {
      const value = this.#asProvider(registered, work);
      this.#health.call(registered.name, hook, { outcome: "ok", ms: performance.now() - startedAt });
      return { kind: "ok", value };
    } catch (cause) {
      return this.#failed(registered, hook, { cause, ms: performance.now() - startedAt });
    }
  }

  /** Counts a call that was not made. */
  skip(registered: Registered, hook: Hook, message: string): void {
    this.#health.call(registered.name, hook, { outcome: "skipped", message });
    this.#say(registered, hook, message);
  }

  /** Ends the waiting for every call that still runs. Those that come after are not concerned. */
  stopAll(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  /** A warning the first time; what comes after it is for whoever looks closely. */
  warnOnce(key: string, message: string, fields: LogFields): void {
    if (this.#said.has(key)) this.#log.debug(message, fields);
    else this.#log.warn(message, fields);
    this.#said.add(key);
  }

  #asProvider<T>({ name }: Registered, work: () => T): T {
    return runAsProvider({ onStray: (cause) => this.#stray(name, cause) }, work);
  }

  #failed(
    registered: Registered,
    hook: Hook,
    { cause, ms }: { readonly cause: unknown; readonly ms: number },
  ) {
    const message = reasonOf(cause);
    this.#health.call(registered.name, hook, { outcome: "failed", ms, message });
    this.#say(registered, hook, message);
    this.#trouble(registered, `failed (${hook}: ${message})`);
    return { kind: "failed" as const, message };
  }

  /** No limit is what the user asked for, and stays one. */
  #waitMs({ registered, deadlineMs, patience }: CallRules<never>): number {
    if (patience === undefined || deadlineMs === Number.POSITIVE_INFINITY) return deadlineMs;
    return this.#patience.isHanging(registered.name) ? Math.min(deadlineMs, patience.leftMs) : deadlineMs;
  }

  #trouble({ name }: Registered, what: string): void {
    if (this.#troubled.has(name)) return;
    this.#troubled.add(name);
    try {
      this.#onTrouble?.(
        `The memory provider '${name}' ${what}. The conversation goes on without it; 'hermes memory status' shows more.`,
      );
    } catch (cause) {
      this.#log.warn(`Whoever is told of trouble with memory providers failed: ${reasonOf(cause)}`);
    }
  }

  #say(registered: Registered, hook: Hook, reason: string): void {
    const fields = { provider: registered.name, hook, reason };
    const message = `The memory provider '${registered.name}' failed in ${hook}: ${reason}. The agent goes on without it; 'hermes memory status' counts.`;
    if (LOUD.includes(hook)) this.#log.error(message, fields);
    else this.warnOnce(keyOf(registered, hook), message, fields);
  }

  #stray(provider: string, cause: unknown): void {
    const reason = reasonOf(cause);
    this.#health.stray(provider, reason);
    const message = `The memory provider '${provider}' left work behind that failed: ${reason}.`;
    this.warnOnce(`${provider} stray`, message, { provider, reason });
  }
}

const NO_TIME_LEFT = "no answer at once, and calls before it had used up the time there was";
const STOPPED = "it had not answered when the agent shut down";
const REASON_CHARS = 300;
/** More than is shown, so that no secret is cut before it is masked; less than the megabytes a plugin may throw. */
const READ_CHARS = 4_000;

/** One line without secrets, whatever was thrown: a plugin may throw things that cannot even be turned into text. */
function reasonOf(cause: unknown): string {
  try {
    const said = redactSecrets(takeCodePoints(describeCause(cause), READ_CHARS));
    const line = pyStrip(said.replace(/[\s\p{Cc}]+/gu, " ")).replace(/[.\s]+$/, "");
    return line === "" ? "no reason given" : preview(line, REASON_CHARS);
  } catch {
    return "something was thrown that cannot be shown";
  }
}

function keyOf({ name }: Registered, hook: Hook): string {
  return `${name} ${hook}`;
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000;
}
