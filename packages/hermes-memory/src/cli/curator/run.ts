// `hermes curator run`.
import { type CuratorMode, type CuratorScope, runCurator } from "@hermes-memory/agent/curator";
import { type CommandBody, CommandFailure, type CommandInput, unwrap } from "../command.ts";
import { modelSources } from "../model/resolution.ts";
import { printable } from "../printing.ts";
import { curatorModel } from "./model.ts";
import { curatorFailure, runJson, runLines } from "./print.ts";

export const run: CommandBody = async (input, context) => {
  const { io, isJson } = context;
  const mode = modeOf(input);
  const scope = scopeOf(input);
  const { config, env } = await modelSources(context);
  const chosen =
    input.flags["no-model"] === true
      ? ({ kind: "none", reason: "" } as const)
      : await curatorModel(config, env);
  const notes =
    chosen.kind === "none" && chosen.reason !== ""
      ? [`No model is used, only fixed rules. ${printable(chosen.reason)}`]
      : [];
  const outcome = await io.untilInterrupted(async (signal) => {
    try {
      return await runCurator({
        memory: context.memory,
        mode,
        scope,
        signal,
        model: chosen.kind === "model" ? chosen.model : undefined,
        callTimeoutMs: config.auxiliary.curator.timeout * 1000,
        ...(io.isInteractive && !isJson ? { onProgress: (line: string) => io.note(`${line}\n`) } : {}),
      });
    } catch (cause) {
      if (signal.aborted) return undefined;
      throw cause;
    } finally {
      if (chosen.kind === "model") io.endWithoutWaiting();
    }
  });
  if (outcome === undefined)
    return {
      json: { success: false, kind: "interrupted" },
      lines: [
        "Stopped. 'hermes curator history' shows the run; 'hermes curator rollback' takes back what it did.",
      ],
      exitCode: 130,
    };
  const done = unwrap(outcome, curatorFailure);
  const isRefused = done.decided.some((each) => each.outcome.kind === "refused");
  return {
    json: runJson(done),
    lines: runLines(done),
    notes: [...notes, ...done.notes.map(printable), ...droppedNote(done.model.dropped)],
    exitCode: isRefused ? 1 : 0,
  };
};

function modeOf({ flags }: CommandInput): CuratorMode {
  if (flags["dry-run"] === true && flags.apply === true)
    throw new CommandFailure("--dry-run and --apply contradict each other. Pass one of them.", {
      exitCode: 2,
    });
  if (flags["dry-run"] === true) return "dry-run";
  return flags.apply === true ? "apply" : "propose";
}

/** Both flags together mean both. */
function scopeOf({ flags }: CommandInput): CuratorScope {
  if (flags.memory === flags.skills) return "all";
  return flags.memory === true ? "memory" : "skills";
}

function droppedNote(dropped: readonly string[]): string[] {
  if (dropped.length === 0) return [];
  const kinds = [...new Set(dropped)].join(", ");
  return [
    `${dropped.length} of the model's proposals did not stand up to the checks (${kinds}) and were dropped.`,
  ];
}
