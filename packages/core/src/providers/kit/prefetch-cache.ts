// PLACEHOLDER until branch `http` is merged.
type Outcome =
  | { readonly kind: "kept" | "empty" | "superseded" }
  | { readonly kind: "failed"; readonly cause: unknown };

export type PrefetchCache<T> = {
  fetch(sessionId: string, turn: number, work: (signal: AbortSignal) => Promise<T>): Promise<Outcome>;
  take(sessionId: string, turn: number, signal?: AbortSignal): Promise<T | undefined>;
  clear(sessionId?: string): void;
  has(sessionId: string): boolean;
};

export function createPrefetchCache<T>({
  waitMs,
  isEmpty,
}: {
  readonly waitMs: number;
  readonly isEmpty: (value: T) => boolean;
}): PrefetchCache<T> {
  const kept = new Map<string, { value?: T; ended: Promise<Outcome> }>();
  return {
    fetch(sessionId, _turn, work) {
      const slot: { value?: T; ended: Promise<Outcome> } = { ended: Promise.resolve({ kind: "empty" }) };
      slot.ended = work(new AbortController().signal).then(
        (value): Outcome => {
          if (isEmpty(value)) return { kind: "empty" };
          slot.value = value;
          return { kind: "kept" };
        },
        (cause: unknown): Outcome => ({ kind: "failed", cause }),
      );
      kept.set(sessionId, slot);
      return slot.ended;
    },
    async take(sessionId) {
      const slot = kept.get(sessionId);
      if (slot === undefined) return undefined;
      await Promise.race([slot.ended, new Promise((resolve) => setTimeout(resolve, waitMs).unref())]);
      kept.delete(sessionId);
      return slot.value;
    },
    clear: (sessionId) => (sessionId === undefined ? kept.clear() : void kept.delete(sessionId)),
    has: (sessionId) => kept.has(sessionId),
  };
}
