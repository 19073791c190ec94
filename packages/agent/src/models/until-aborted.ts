/** Rejects with the signal's reason on abort, even if the work ignores the signal. Leaves no listener on it. */
export async function untilAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}
