// What Ctrl-C means: it stops what runs, or empties the line; twice, it leaves.

export type Interrupts = {
  /** When the last one stopped something; a second one soon after leaves. */
  readonly stoppedAtMs: number | undefined;
  /** The last key was Ctrl-C at an empty prompt. */
  readonly isArmed: boolean;
};

export type InterruptMeaning = "stop" | "clear" | "warn" | "leave";

export const NO_INTERRUPTS: Interrupts = { stoppedAtMs: undefined, isArmed: false };

const TWICE_MS = 2000;

export function pressInterrupt(
  before: Interrupts,
  now: { readonly isBusy: boolean; readonly isEmpty: boolean; readonly atMs: number },
): { readonly interrupts: Interrupts; readonly meaning: InterruptMeaning } {
  const isSecond = before.stoppedAtMs !== undefined && now.atMs - before.stoppedAtMs <= TWICE_MS;
  if (isSecond) return { interrupts: before, meaning: "leave" };
  if (now.isBusy) return { interrupts: { stoppedAtMs: now.atMs, isArmed: false }, meaning: "stop" };
  if (!now.isEmpty) return { interrupts: NO_INTERRUPTS, meaning: "clear" };
  if (before.isArmed) return { interrupts: before, meaning: "leave" };
  return { interrupts: { stoppedAtMs: undefined, isArmed: true }, meaning: "warn" };
}

/** Any other key: somebody stays. */
export function pressOther(before: Interrupts): Interrupts {
  return before.isArmed ? { ...before, isArmed: false } : before;
}
