// `hermes memory test`: is brv there, does it answer, does search work. Nothing is written: brv has no command that takes
// a curated note out of the tree again.
import { HermesError, type Result } from "../../../lib/index.ts";
import type { SelfTestReport } from "../../contract.ts";
import type { BrvClient, BrvFailure } from "./client.ts";
import { searchCommand, statusCommand } from "./command.ts";
import type { Limits } from "./limits.ts";
import { firstText } from "./reply.ts";
import { modelLine, readModelProvider } from "./status.ts";

/** Any words will do: that search answers is what counts, an empty tree included. */
const PROBE = "is there anything about this project";

export async function testByterover(
  client: BrvClient,
  limits: Limits,
  signal: AbortSignal,
): Promise<SelfTestReport> {
  const status = await timed(() => client.call(statusCommand(limits), { signal }));
  const recall = await timed(() => client.call(searchCommand(PROBE, 1, limits), { signal }));
  const model = await timed(() => readModelProvider(client, limits, { signal }));
  const found = recall.value.totalFound;
  return {
    steps: [
      { name: "status", ms: status.ms, detail: `brv ${firstText(status.value.cliVersion) ?? "answers"}` },
      {
        name: "recall",
        ms: recall.ms,
        detail: `search works, ${typeof found === "number" ? found : 0} found`,
      },
      { name: "model", ms: model.ms, detail: modelLine(model.value) },
      { name: "write", ms: 0, detail: "left out: brv cannot remove a note again" },
    ],
  };
}

async function timed<T>(work: () => Promise<Result<T, BrvFailure>>): Promise<{ ms: number; value: T }> {
  const startedAt = performance.now();
  const outcome = await work();
  if (!outcome.ok) throw new HermesError("byterover-failed", outcome.error.message);
  return { ms: performance.now() - startedAt, value: outcome.value };
}
