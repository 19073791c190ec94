// The user's hand on a running turn: the interrupt, and what is typed meanwhile.
import { pyStrip } from "@hermes-memory/core/lib";
import type { TurnControl } from "./turn.ts";

export class TurnSteering implements TurnControl {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #texts: string[] = [];
  readonly #onOuterAbort = (): void => this.interrupt();
  #message: string | null = null;
  #isClosed = false;

  /** `outer`: the caller's own signal. */
  constructor(outer: AbortSignal | undefined) {
    this.#outer = outer;
    outer?.addEventListener("abort", this.#onOuterAbort, { once: true });
    if (outer?.aborted) this.interrupt();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** A hard stop also throws away what was typed for the model to read in between. */
  interrupt(message?: string): void {
    if (this.#controller.signal.aborted) return;
    this.#message = message ?? null;
    this.#texts.length = 0;
    this.#controller.abort(new DOMException("The turn was interrupted by the user.", "AbortError"));
  }

  interruptMessage(): string | null {
    return this.#message;
  }

  /** False when the turn takes nothing any more. After an interrupt it is kept for the next turn. */
  add(text: string): boolean {
    if (this.#isClosed) return false;
    if (pyStrip(text) !== "") this.#texts.push(pyStrip(text));
    return true;
  }

  closeSteering(): string | undefined {
    this.#isClosed = true;
    return this.takeSteer();
  }

  takeSteer(): string | undefined {
    const texts = this.#texts.splice(0);
    return texts.length === 0 ? undefined : texts.join("\n\n");
  }

  end(): void {
    this.#outer?.removeEventListener("abort", this.#onOuterAbort);
  }
}
