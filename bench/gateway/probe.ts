// Loaded into the measured server (`--import`): answers the load test's questions about its own process over the channel between them.
import { readdirSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { StatementSync } from "node:sqlite";

/** Of the measured process. */
export type Measured = {
  readonly heapMb: number;
  readonly rssMb: number;
  readonly files: number;
  /** Since the process began. */
  readonly cpuMs: number;
  readonly statements: number;
  readonly transactions: number;
  /** Since the question before. */
  readonly loopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
};

/** `gc`: after collecting garbage. */
export type Question = { readonly gc?: boolean; readonly profile?: "start" | { readonly path: string } };

const RESOLUTION_MS = 5;
const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
loop.enable();
const counted = { statements: 0, transactions: 0 };
if (process.env.HERMES_BENCH_COUNT === "1") countStatements();

let session: Session | undefined;

process.on("message", (question: Question) => void answer(question));
process.channel?.unref();

async function answer({ gc, profile }: Question): Promise<void> {
  if (gc) for (let round = 0; round < 3; round += 1) global.gc?.();
  if (profile === "start") {
    session = new Session();
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
  } else if (profile !== undefined && session !== undefined) {
    writeFileSync(profile.path, JSON.stringify((await session.post("Profiler.stop")).profile));
    session.disconnect();
  }
  const { heapUsed, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const ms = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  const measured: Measured = {
    heapMb: heapUsed / 2 ** 20,
    rssMb: rss / 2 ** 20,
    files: readdirSync("/proc/self/fd").length,
    cpuMs: (user + system) / 1000,
    ...counted,
    loopDelayMs: { p50: ms(loop.percentile(50)), p99: ms(loop.percentile(99)), max: ms(loop.max) },
  };
  loop.reset();
  process.send?.(measured);
}

/** Costs some percent of the time that is measured. */
function countStatements(): void {
  for (const name of ["run", "get", "all", "iterate"] as const) {
    const plain = StatementSync.prototype[name] as (...given: unknown[]) => unknown;
    Object.assign(StatementSync.prototype, {
      [name](this: StatementSync, ...given: unknown[]) {
        counted.statements += 1;
        if (this.sourceSQL === "COMMIT") counted.transactions += 1;
        return plain.apply(this, given);
      },
    });
  }
}
