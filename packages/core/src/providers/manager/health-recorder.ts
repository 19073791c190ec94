// Counts what happens to providers in this process and adds it to their files now and then.
import { existsSync } from "node:fs";
import { type Clock, preview } from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import { addCounts, type HealthDelta, type HookCounts, NO_CALLS } from "./health.ts";
import { addToHealthFile } from "./health-file.ts";

/** Failures reach the file soon, so that `status` shows them while the agent still runs. */
const WRITE_DELAY_MS = 250;
const MESSAGE_CHARS = 300;

type Open = {
  hooks: Record<string, HookCounts>;
  texts: { cut: number; unfenced: number; blocked: number };
  dropped_tasks: number;
  stray_errors: number;
  last_error?: NonNullable<HealthDelta["last_error"]>;
};

export type CallRecord = {
  readonly outcome: "ok" | "failed" | "timeout" | "skipped";
  readonly ms?: number;
  readonly message?: string;
};

export class HealthRecorder {
  readonly #home: string | undefined;
  readonly #fileNameOf: (provider: string) => string;
  readonly #clock: Clock;
  readonly #open = new Map<string, Open>();
  #timer: NodeJS.Timeout | undefined;

  /** Without a home everything is counted and nothing is kept. */
  constructor(home: string | undefined, clock: Clock, fileNameOf = (provider: string) => provider) {
    this.#home = home;
    this.#fileNameOf = fileNameOf;
    this.#clock = clock;
  }

  call(provider: string, hook: string, { outcome, ms = 0, message }: CallRecord): void {
    const open = this.#of(provider);
    const rounded = Math.round(ms * 1000) / 1000;
    open.hooks[hook] = addCounts(open.hooks[hook] ?? NO_CALLS, {
      calls: outcome === "skipped" ? 0 : 1,
      failures: outcome === "failed" ? 1 : 0,
      timeouts: outcome === "timeout" ? 1 : 0,
      skipped: outcome === "skipped" ? 1 : 0,
      total_ms: rounded,
      max_ms: rounded,
    });
    if (outcome !== "ok") this.#note(open, hook, message ?? outcome);
  }

  text(provider: string, change: { wasCut: boolean; wasFenced: boolean; blockedParagraphs: number }): void {
    const { texts } = this.#of(provider);
    texts.cut += change.wasCut ? 1 : 0;
    texts.unfenced += change.wasFenced ? 1 : 0;
    texts.blocked += change.blockedParagraphs;
    if (change.wasCut || change.wasFenced || change.blockedParagraphs > 0) this.#writeSoon();
  }

  dropped(provider: string, tasks: number): void {
    const open = this.#of(provider);
    open.dropped_tasks += tasks;
    this.#note(open, "worker", `${tasks} background task(s) dropped`);
  }

  stray(provider: string, message: string): void {
    const open = this.#of(provider);
    open.stray_errors += 1;
    this.#note(open, "stray", message);
  }

  /** Adds what was counted to the files. What cannot be written now stays counted. */
  write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#home === undefined) return;
    for (const [provider, open] of this.#open) {
      if (addToHealthFile(this.#home, this.#fileNameOf(provider), open, this.#clock))
        this.#open.delete(provider);
    }
    if (this.#open.size === 0) unwritten.delete(this);
  }

  /** On the way out of the process. A home that was removed meanwhile stays removed. */
  writeAtExit(): void {
    if (this.#home !== undefined && existsSync(this.#home)) this.write();
  }

  #of(provider: string): Open {
    const known = this.#open.get(provider);
    if (known) return known;
    const open: Open = {
      hooks: {},
      texts: { cut: 0, unfenced: 0, blocked: 0 },
      dropped_tasks: 0,
      stray_errors: 0,
    };
    this.#open.set(provider, open);
    if (this.#home !== undefined) remember(this);
    return open;
  }

  #note(open: Open, hook: string, message: string): void {
    const at = this.#clock.now().toISOString();
    open.last_error = { hook, message: preview(redactSecrets(message), MESSAGE_CHARS), at };
    this.#writeSoon();
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => this.write(), WRITE_DELAY_MS).unref();
  }
}

/** Those with counts that are in no file yet. A process may end before their timer, or without a shutdown. */
const unwritten = new Set<HealthRecorder>();
let isListening = false;

function remember(recorder: HealthRecorder): void {
  unwritten.add(recorder);
  if (isListening) return;
  isListening = true;
  process.once("exit", () => {
    for (const each of unwritten) each.writeAtExit();
  });
}
