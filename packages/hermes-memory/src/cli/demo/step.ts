// One thing the tour shows: what a layer did, with the values it did it with, and whether what was promised is so.
import { describeCause } from "@hermes-memory/core/lib";

export type Step = {
  readonly id: string;
  readonly session: number;
  readonly layer: string;
  /** What happened, in a sentence. */
  readonly title: string;
  readonly ok: boolean;
  /** Statements, and whether they are true. */
  readonly checks: Readonly<Record<string, boolean>>;
  /** Why the step could not be shown to its end. */
  readonly problem: string | null;
  readonly facts: Readonly<Record<string, unknown>>;
  /** For people, below the title. */
  readonly lines: readonly string[];
};

export type Shown = Pick<Step, "checks" | "facts" | "lines">;
export type StepName = Pick<Step, "id" | "session" | "layer" | "title">;

/** Whatever goes wrong is the step's; only an interrupt travels on. */
export async function takeStep(
  name: StepName,
  show: () => Promise<Shown>,
  signal: AbortSignal,
): Promise<Step> {
  try {
    const shown = await show();
    return { ...name, ...shown, ok: Object.values(shown.checks).every(Boolean), problem: null };
  } catch (cause) {
    signal.throwIfAborted();
    return { ...name, ok: false, checks: {}, facts: {}, lines: [], problem: describeCause(cause) };
  }
}

/** What an earlier step should have left. */
export function needed<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what} is missing.`);
  return value;
}
