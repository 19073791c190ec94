// Recall that came after its turn had gone on. The next turn of the same session may still use it, once.

type Late = { readonly sessionId: string; readonly turn: number; readonly text: string };

export class LateRecalls {
  readonly #maxAgeTurns: number;
  readonly #byProvider = new Map<string, Late>();

  constructor(maxAgeTurns: number) {
    this.#maxAgeTurns = maxAgeTurns;
  }

  /** Of two that come late, the one for the later turn stays, whichever comes first. */
  keep(provider: string, late: Late): void {
    if ((this.#byProvider.get(provider)?.turn ?? late.turn) > late.turn) return;
    this.#byProvider.set(provider, late);
  }

  /** "" when there is none for this session that is young enough. */
  take(provider: string, now: { readonly sessionId: string; readonly turn: number }): string {
    const late = this.#byProvider.get(provider);
    this.#byProvider.delete(provider);
    if (late === undefined || late.sessionId !== now.sessionId) return "";
    return now.turn - late.turn <= this.#maxAgeTurns ? late.text : "";
  }

  clear(): void {
    this.#byProvider.clear();
  }
}
