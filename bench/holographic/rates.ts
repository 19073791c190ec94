// Facts added per second, one per call: at the beginning, at the end and overall.
import { quantile, round } from "../statistics.ts";

export type AddRates = {
  readonly per_s: number;
  /** For the first and the last thousand facts (or tenth, of fewer than 10,000): shows a cost that grows with the size. */
  readonly first_per_s: number;
  readonly last_per_s: number;
  /** Per second of CPU time, without waiting for the disk and for other programs. */
  readonly per_cpu_s: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
};

/** `times` in milliseconds, in the order of the calls; `cpuMs` for all of them together. */
export function addRates(times: readonly number[], cpuMs: number): AddRates {
  const part = Math.max(1, Math.min(1000, Math.floor(times.length / 10)));
  return {
    per_s: perSecond(times),
    first_per_s: perSecond(times.slice(0, part)),
    last_per_s: perSecond(times.slice(-part)),
    per_cpu_s: round((times.length / cpuMs) * 1000, 0),
    p50_ms: round(quantile(times, 0.5), 3),
    p95_ms: round(quantile(times, 0.95), 3),
  };
}

function perSecond(times: readonly number[]): number {
  return round((times.length / times.reduce((sum, ms) => sum + ms, 0)) * 1000, 0);
}
