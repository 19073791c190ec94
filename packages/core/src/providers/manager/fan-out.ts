// One event for every provider, in the order they were registered: now and awaited, now for their text, or in the background.
import type { Logger } from "../../lib/logger.ts";
import type { CallOptions, MemoryProvider } from "../contract.ts";
import { QUEUE_LENGTH } from "./deadlines.ts";
import type { CallRules, GuardedCalls } from "./guarded-call.ts";
import type { HealthRecorder } from "./health-recorder.ts";
import type { Patience, StepPatience } from "./patience.ts";
import { isBlank, toPromptText } from "./prompt-text.ts";
import { type Hook, hasHook, type Registered } from "./registered.ts";
import { BackgroundWorker } from "./worker.ts";

export type Work = (provider: MemoryProvider, options: CallOptions) => unknown;

export type FanOutRules = {
  readonly providers: readonly Registered[];
  readonly calls: GuardedCalls;
  readonly health: HealthRecorder;
  readonly patience: Patience;
  readonly log: Logger;
  readonly recallMaxChars: number;
  readonly allowSecrets: boolean;
  readonly backgroundMs: number;
};

export class FanOut {
  readonly #rules: FanOutRules;
  readonly #worker = new BackgroundWorker(QUEUE_LENGTH);

  constructor(rules: FanOutRules) {
    this.#rules = rules;
  }

  /** Each provider has the whole deadline; those that hang share what `patience` the step has. */
  async tell(
    hook: Hook,
    deadlineMs: number,
    work: Work,
    patience: StepPatience = this.#rules.patience.forStep(),
  ): Promise<void> {
    for (const registered of this.#having(hook))
      await this.#call({ registered, hook, deadlineMs, patience }, work);
  }

  /** All providers together have one deadline. Whoever still hangs from the last time is not asked again. */
  async tellWithin(hook: Hook, deadlineMs: number, work: Work, patience: StepPatience): Promise<void> {
    const until = performance.now() + deadlineMs;
    for (const registered of this.#having(hook)) {
      const left = Math.max(0, until - performance.now());
      await this.#call({ registered, hook, deadlineMs: left, isOneAtATime: true, patience }, work);
    }
  }

  /** What the providers answer, made safe for a prompt and joined by blank lines. */
  async collect(hook: Hook, deadlineMs: number, work: Work): Promise<string> {
    const parts: string[] = [];
    const patience = this.#rules.patience.forStep();
    for (const registered of this.#having(hook)) {
      const outcome = await this.#call({ registered, hook, deadlineMs, patience }, work);
      const raw = outcome.kind === "ok" && typeof outcome.value === "string" ? outcome.value : "";
      parts.push(this.forPrompt(registered, hook, raw));
    }
    return joinTexts(parts);
  }

  /** On the worker, after everything handed in before; for all providers but the named one. */
  later(hook: Hook, work: Work, options: { readonly except?: string } = {}): void {
    const { log, calls, health, backgroundMs: deadlineMs } = this.#rules;
    const concerned = this.#having(hook).filter(({ name }) => name !== options.except);
    if (concerned.length === 0) return;
    const outcome = this.#worker.push(async () => {
      for (const registered of concerned) {
        if (this.#worker.isClosed) return; // shut down while the provider before this one hung
        await this.#call({ registered, hook, deadlineMs, isBackground: true }, work);
      }
    });
    if (outcome === "closed")
      log.debug(`Nothing is handed to memory providers after shutdown (${hook}).`, { hook });
    if (outcome !== "full") return;
    for (const registered of concerned) {
      calls.skip(registered, hook, `${QUEUE_LENGTH} tasks wait already, so this one was dropped`);
      health.dropped(registered.name, 1);
    }
  }

  /** With `patience`, only for as long as the worker gets on: in a call of a provider that hangs it will not. */
  async drain(timeoutMs: number, patience?: StepPatience): Promise<boolean> {
    const { providers, patience: known } = this.#rules;
    if (patience === undefined || !providers.some(({ name }) => known.isHanging(name)))
      return this.#worker.drain(timeoutMs);
    const stillMs = patience.leftMs;
    const isDone = await this.#worker.drain(timeoutMs, stillMs);
    if (!isDone) patience.leftMs = Math.max(0, patience.leftMs - Math.min(stillMs, timeoutMs));
    return isDone;
  }

  /** Takes nothing more for the background. What has not finished is counted as lost. */
  close(): void {
    const { providers, health, log } = this.#rules;
    const lost = this.#worker.close();
    if (lost === 0) return;
    for (const { name } of providers) health.dropped(name, lost);
    log.warn(`${lost} background task(s) of memory providers did not finish before shutdown.`, { lost });
  }

  /** Last one first; all together have one deadline. */
  async shutDown(deadlineMs: number, patience: StepPatience): Promise<void> {
    const until = performance.now() + deadlineMs;
    for (const registered of this.#having("shutdown").toReversed()) {
      const startedAt = performance.now();
      const left = Math.max(0, until - startedAt);
      // Nothing comes after this: where the waiting ends, the call has to end too.
      const isHanging = this.#rules.patience.isHanging(registered.name);
      const rules = {
        registered,
        hook: "shutdown" as const,
        deadlineMs: isHanging ? Math.min(left, patience.leftMs) : left,
      };
      await this.#call(rules, (provider, call) => provider.shutdown?.(call));
      if (isHanging) patience.leftMs = Math.max(0, patience.leftMs - (performance.now() - startedAt));
    }
  }

  forPrompt({ name }: Registered, hook: Hook, raw: string): string {
    if (isBlank(raw)) return "";
    const { health, calls, recallMaxChars, allowSecrets } = this.#rules;
    const { text, ...change } = toPromptText(raw, recallMaxChars, { allowSecrets });
    health.text(name, change);
    if (change.wasCut || change.wasFenced || change.blockedParagraphs > 0 || change.maskedSecrets > 0) {
      const message = `Text of the memory provider '${name}' was changed before it reached a prompt.`;
      calls.warnOnce(`${name} ${hook} text`, message, { provider: name, hook, ...change });
    }
    return text;
  }

  #having(hook: Hook): readonly Registered[] {
    return this.#rules.providers.filter((registered) => hasHook(registered, hook));
  }

  #call(rules: CallRules<unknown>, work: Work) {
    return this.#rules.calls.call<unknown>(rules, (signal) => work(rules.registered.provider, { signal }));
  }
}

/** Blank ones are left out; the others stay as they are. */
export function joinTexts(parts: readonly string[]): string {
  return parts.filter((part) => !isBlank(part)).join("\n\n");
}
