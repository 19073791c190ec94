// One provider as the manager calls it. Each call has a deadline and feeds the breaker; everything the provider throws is caught, counted
// in its health file and logged, the first time as a warning.
import { type Clock, err, ok, type Result } from "../../lib/index.ts";
import type { LogFields, Logger } from "../../lib/logger.ts";
import { type MemoryProvider, PROVIDER_CONTRACT } from "../contract.ts";
import { Breaker, LOST_CALL_MS, TIMER_SLACK_MS } from "../kit/breaker.ts";
import { describeForeign, runAsProvider, withDeadline } from "../kit/foreign-code.ts";
import { HealthRecorder } from "./health.ts";

export type Hook = Exclude<keyof MemoryProvider, "contract" | "name" | "preCompressCheckpointApiVersion">;

export type CallOutcome<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "failed" | "timeout" | "skipped" | "stopped"; readonly message: string };

export type CallRules<T> = {
  readonly deadlineMs: number;
  /** Called with an answer that comes after the deadline. */
  readonly onLate?: (value: T) => void;
  /** The agent does not wait for this call: its deadline must not keep the process alive. */
  readonly isBackground?: boolean;
  /** Skipped while an earlier call of this hook still runs: a provider that hangs costs one turn its deadline, not every turn. */
  readonly isOneAtATime?: boolean;
  /** The caller waits until the deadline also while the provider hangs; default: `hangingMs` at most. The call keeps its deadline. */
  readonly isPatient?: boolean;
};

export type GuardedProviderOptions = {
  readonly home: string | undefined;
  /** Name of the health file; default: the provider's name. */
  readonly selectedAs: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Wait for one call, in milliseconds, of a provider that hangs. */
  readonly hangingMs: number;
  /** Told once, in words for the user, when a call fails or is not answered in time. */
  readonly onTrouble: ((text: string) => void) | undefined;
};

/** Failures of these hooks are logged as errors every time: the model was waiting for an answer. */
const LOUD_HOOKS: readonly Hook[] = ["handleToolCall"];

/** Two calls in a row that settled late mean that the provider hangs; a single one may be chance. */
const LATE_CALLS = 2;

const NO_TIME_LEFT = "no answer at once, and the call before it had used up the time there was";
const STOPPED = "it had not answered when the agent shut down";

export class GuardedProvider {
  /** Read once: a plugin may compute its name, and the getter may return something else or throw the next time. */
  readonly name: string;
  readonly provider: MemoryProvider;
  readonly health: HealthRecorder;
  readonly breaker = new Breaker({ failures: LATE_CALLS });
  readonly #options: GuardedProviderOptions;
  readonly #warned = new Set<string>();
  /** Start of the running call of each one-at-a-time hook. */
  readonly #running = new Map<Hook, number>();
  #stop = new AbortController();
  #isTroubleTold = false;

  constructor(name: string, provider: MemoryProvider, options: GuardedProviderOptions) {
    this.name = name;
    this.provider = provider;
    this.#options = options;
    this.health = new HealthRecorder(options.home, options.selectedAs ?? name, options.clock);
  }

  /** A call runs past its deadline, or the last two settled only after theirs. */
  get isHanging(): boolean {
    return this.breaker.state !== "closed";
  }

  /** A member whose getter throws counts as present: the guarded call then fails and reports it. */
  has(hook: Hook): boolean {
    try {
      return (this.provider[hook] ?? undefined) !== undefined;
    } catch {
      return true;
    }
  }

  /** Never rejects. */
  async call<T>(
    hook: Hook,
    rules: CallRules<T>,
    work: (provider: MemoryProvider, signal: AbortSignal) => T | Promise<T>,
  ): Promise<CallOutcome<T>> {
    const {
      deadlineMs,
      onLate,
      isBackground,
      isOneAtATime = false,
      isPatient = isBackground === true,
    } = rules;
    const startedAt = performance.now();
    if (isOneAtATime) {
      const since = this.#running.get(hook);
      if (since !== undefined && startedAt - since < LOST_CALL_MS)
        return this.skip(hook, "an earlier call has not come back yet");
      this.#running.set(hook, startedAt);
    }
    // A deadline of Infinity was set by the user in config and is kept.
    const isShort = !isPatient && this.isHanging && deadlineMs !== Number.POSITIVE_INFINITY;
    const waitMs = isShort ? Math.min(deadlineMs, this.#options.hangingMs) : deadlineMs;
    const limits = {
      ms: deadlineMs,
      waitMs,
      isBackground,
      stop: this.#stop.signal,
      onLate: { value: onLate, failure: (cause: unknown) => this.#lateFailure(hook, cause) },
    };
    const watched = this.#watched(hook, { startedAt, deadlineMs }, work);
    try {
      // The deadline is set inside, so that listeners of the signal count as the provider's code, also when they throw.
      const answer = await this.#asProvider(() => withDeadline(limits, watched));
      const ms = performance.now() - startedAt;
      if (answer.kind === "done") {
        this.health.call(hook, { outcome: "ok", ms });
        return { kind: "ok", value: answer.value };
      }
      const noAnswer = waitMs > 0 ? `no answer within ${Math.round(waitMs) / 1000} s` : NO_TIME_LEFT;
      const message = answer.kind === "timeout" ? noAnswer : STOPPED;
      this.health.call(hook, { outcome: "timeout", ms, message });
      if (answer.kind === "timeout") {
        this.#logFailure(hook, message);
        this.#tellTrouble(`does not answer (${hook}: ${message})`);
      }
      return { kind: answer.kind, message };
    } catch (cause) {
      return this.#failed(hook, cause, performance.now() - startedAt);
    }
  }

  /** A synchronous call, for a caller that cannot wait. Never throws. */
  callNow<T>(hook: Hook, work: (provider: MemoryProvider) => T): CallOutcome<T> {
    const startedAt = performance.now();
    try {
      const value = this.#asProvider(() => work(this.provider));
      this.health.call(hook, { outcome: "ok", ms: performance.now() - startedAt });
      return { kind: "ok", value };
    } catch (cause) {
      return this.#failed(hook, cause, performance.now() - startedAt);
    }
  }

  /** Counts a call that was not made. */
  skip(hook: Hook, message: string): CallOutcome<never> {
    this.health.call(hook, { outcome: "skipped", message });
    this.#logFailure(hook, message);
    return { kind: "skipped", message };
  }

  /** Stops waiting for all running calls and aborts their signals. Later calls are not affected. */
  stopCalls(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  /** A warning the first time, a debug line from then on. */
  warnOnce(key: string, message: string, fields: LogFields): void {
    const { log } = this.#options;
    if (this.#warned.has(key)) log.debug(message, { provider: this.name, ...fields });
    else log.warn(message, { provider: this.name, ...fields });
    this.#warned.add(key);
  }

  /** The call with its result reported to the breaker. A failure before the deadline counts as an answer: the provider is alive. */
  #watched<T>(
    hook: Hook,
    { startedAt, deadlineMs }: { readonly startedAt: number; readonly deadlineMs: number },
    work: (provider: MemoryProvider, signal: AbortSignal) => T | Promise<T>,
  ): (signal: AbortSignal) => Promise<T> {
    const { hangingMs } = this.#options;
    // A call with a deadline of 0 ms shows nothing until it has run as long as a step waits.
    const settled = this.breaker.watch(Math.max(deadlineMs, hangingMs));
    return async (signal) => {
      try {
        return await work(this.provider, signal);
      } finally {
        settled();
        const ms = performance.now() - startedAt;
        if (!signal.aborted) this.breaker.succeeded();
        else if (ms >= hangingMs - TIMER_SLACK_MS) this.breaker.failed();
        if (this.#running.get(hook) === startedAt) this.#running.delete(hook);
      }
    };
  }

  #asProvider<T>(work: () => T): T {
    return runAsProvider((cause) => this.#strayFailure(cause), work);
  }

  #failed(hook: Hook, cause: unknown, ms: number): CallOutcome<never> {
    const message = describeForeign(cause);
    this.health.call(hook, { outcome: "failed", ms, message });
    this.#logFailure(hook, message);
    this.#tellTrouble(`failed (${hook}: ${message})`);
    return { kind: "failed", message };
  }

  #tellTrouble(what: string): void {
    if (this.#isTroubleTold) return;
    this.#isTroubleTold = true;
    try {
      this.#options.onTrouble?.(
        `The memory provider '${this.name}' ${what}. The conversation goes on without it; 'hermes memory status' shows more.`,
      );
    } catch (cause) {
      this.#options.log.warn(
        `The listener for trouble with memory providers failed: ${describeForeign(cause)}`,
      );
    }
  }

  #logFailure(hook: Hook, reason: string): void {
    const message = `The memory provider '${this.name}' failed in ${hook}: ${reason}. The agent goes on without it; 'hermes memory status' shows how often.`;
    if (LOUD_HOOKS.includes(hook)) this.#options.log.error(message, { provider: this.name, hook, reason });
    else this.warnOnce(hook, message, { hook, reason });
  }

  #lateFailure(hook: Hook, cause: unknown): void {
    const reason = describeForeign(cause);
    this.#options.log.debug("A late provider call failed.", { provider: this.name, hook, reason });
  }

  #strayFailure(cause: unknown): void {
    const reason = describeForeign(cause);
    this.health.stray(reason);
    const message = `The memory provider '${this.name}' left work behind that failed: ${reason}.`;
    this.warnOnce("stray", message, { reason });
  }
}

/** The provider's name, or why it cannot be registered: there is room for one. */
export function nameToRegister(provider: MemoryProvider, active: string | undefined): Result<string, string> {
  const declared = readDeclaration(provider);
  if (declared === undefined) return err("A memory provider without a readable name was not taken.");
  const { name, contract } = declared;
  if (contract > PROVIDER_CONTRACT)
    return err(
      `The memory provider '${name}' needs version ${contract} of the provider contract; this program has ${PROVIDER_CONTRACT}. Update hermes-memory.`,
    );
  if (active === undefined) return ok(name);
  return err(
    `The memory provider '${name}' was not taken: '${active}' is active, and there can be only one. Choose with memory.provider in config.yaml.`,
  );
}

/** Undefined without a usable name. A contract that is not a number counts as version 1. */
function readDeclaration(
  provider: MemoryProvider,
): { readonly name: string; readonly contract: number } | undefined {
  try {
    const { name, contract }: { readonly name: unknown; readonly contract?: unknown } = provider;
    if (typeof name !== "string" || name === "") return undefined;
    return { name, contract: typeof contract === "number" ? contract : PROVIDER_CONTRACT };
  } catch {
    return undefined; // not an object, or an object whose getters throw
  }
}
