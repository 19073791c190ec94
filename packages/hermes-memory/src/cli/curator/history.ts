// `hermes curator history`: past runs.
import { resolve } from "node:path";
import { type RunRecord, readRuns } from "@hermes-memory/agent/curator";
import type { CommandBody } from "../command.ts";
import { localTime, printable } from "../printing.ts";

const USUAL = 20;

export const history: CommandBody = (input, context) => {
  const limit = typeof input.flags.limit === "number" ? input.flags.limit : USUAL;
  const runs = readRuns(resolve(context.home.home));
  const shown = runs.slice(0, limit);
  return {
    json: {
      runs: shown.map(({ id, startedAt, mode, scope, status, summary, directory }) => ({
        id,
        started_at: startedAt,
        mode,
        scope,
        status,
        summary,
        report: directory,
      })),
      total: runs.length,
    },
    lines: runs.length === 0 ? ["The curator has not run here yet."] : shown.map(line),
    notes:
      shown.length < runs.length
        ? [`${runs.length - shown.length} older runs are not shown; see --limit.`]
        : [],
  };
};

function line({ id, startedAt, mode, scope, status, summary }: RunRecord): string {
  const end = status === "done" ? summary : status === "stopped" ? "stopped" : "was cut off, or is running";
  return `${id}  ${localTime(startedAt)}  ${printable(mode)}  ${printable(scope)}  ${printable(end)}`;
}
