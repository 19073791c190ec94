// `hermes curator run`: the run, its report as text and JSON, and the model it uses.
import {
  type CuratorMode,
  type CuratorRun,
  type CuratorScope,
  type Decided,
  runCurator,
} from "@hermes-memory/agent/internal/curator";
import { curatorModel } from "@hermes-memory/agent/internal/models";
import { type CommandBody, type CommandInput, unwrap, usageFailure } from "../command.ts";
import { modelSources } from "../model/resolution.ts";
import { indented, oneLine, printable } from "../printing.ts";
import { curatorFailure } from "./past-runs.ts";

const STOPPED =
  "Stopped. 'hermes curator history' shows the run; 'hermes curator rollback' takes back what it did.";

export const run: CommandBody = async (input, context) => {
  const { io, isJson } = context;
  const mode = modeOf(input);
  const scope = scopeOf(input);
  const { config, env } = await modelSources(context);
  const chosen = input.flags["no-model"] === true ? undefined : await curatorModel(config, env);
  const notes =
    chosen?.ok === false ? [`No model is used, only fixed rules. ${printable(chosen.error.message)}`] : [];
  const outcome = await io.untilInterrupted(async (signal) => {
    try {
      return await runCurator({
        memory: context.memory,
        mode,
        scope,
        signal,
        model: chosen?.ok ? chosen.value : undefined,
        callTimeoutMs: config.auxiliary.curator.timeout * 1000,
        onProgress: io.isInteractive && !isJson ? (line) => io.note(`${line}\n`) : undefined,
      });
    } catch (cause) {
      if (signal.aborted) return undefined;
      throw cause;
    } finally {
      if (chosen?.ok) io.endWithoutWaiting();
    }
  });
  if (outcome === undefined)
    return { json: { success: false, kind: "interrupted", message: STOPPED }, exitCode: 130 };
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
    throw usageFailure("--dry-run and --apply contradict each other. Pass one of them.");
  if (flags["dry-run"] === true) return "dry-run";
  return flags.apply === true ? "apply" : "propose";
}

/** Both flags together mean both layers, as neither does. */
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

function runJson(run: CuratorRun): object {
  const { id, mode, scope, summary, decided, findings, marks, model, notes, reportDirectory } = run;
  return {
    success: decided.every(({ outcome }) => outcome.kind !== "refused"),
    id,
    mode,
    scope,
    summary,
    proposals: decided.map(proposalJson),
    findings,
    marks,
    model: { used: model.isUsed, calls: model.calls, failures: model.failures, dropped: model.dropped },
    notes,
    report: reportDirectory ?? null,
  };
}

function proposalJson({ proposal, outcome }: Decided): object {
  const { layer, kind, by, reason } = proposal;
  return {
    layer,
    kind,
    by,
    reason,
    ...(proposal.layer === "memory"
      ? {
          target: proposal.target,
          remove: proposal.curation.remove,
          text: proposal.curation.text ?? null,
          keep: proposal.curation.keep ?? [],
          archive: proposal.curation.isArchived ?? false,
        }
      : { skills: proposal.skills, into: proposal.into?.name ?? null }),
    outcome: outcome.kind,
    pending_id: outcome.kind === "staged" ? outcome.id : undefined,
    change_ids: outcome.kind === "applied" ? outcome.ids : undefined,
    detail: "reason" in outcome ? outcome.reason : undefined,
  };
}

// The report of a run: `-` an entry to remove, `+` a new one, `=` one that stays because of it.

function runLines({ id, mode, summary, findings, marks, decided }: CuratorRun): string[] {
  const isThere = (kind: string): boolean => decided.some(({ outcome }) => outcome.kind === kind);
  const isDry = mode === "dry-run";
  return [
    isDry ? `Dry run: ${summary}. Nothing was written.` : `Run ${id}: ${summary}.`,
    ...decided.flatMap(proposalLines),
    ...marks.map(({ skill, mark }) => `  ${skill} is ${mark}`),
    ...findings.flatMap(({ kind, target, entries, reason }) => [
      `  to look at: ${kind} in ${target}, ${reason}`,
      ...entries.map((text) => `    ${oneLine(text, 100)}`),
    ]),
    ...(isDry && isThere("proposed")
      ? ["Stage this with 'hermes curator run', or do it with 'hermes curator run --apply'."]
      : []),
    ...(isThere("staged")
      ? [
          `Do what was staged with 'hermes curator approve ${id}', drop it with 'hermes curator reject ${id}'.`,
        ]
      : []),
    ...(isThere("applied") ? [`Take it back with 'hermes curator rollback ${id}'.`] : []),
  ].map(printable);
}

function proposalLines({ proposal, outcome }: Decided): string[] {
  const { kind, by, reason } = proposal;
  const isMemory = proposal.layer === "memory";
  const what = isMemory
    ? proposal.target
    : [...proposal.skills, ...(proposal.into ? ["->", proposal.into.name] : [])].join(" ");
  const { remove, text, keep = [] } = isMemory ? proposal.curation : { remove: [] };
  const { kind: state, ...details } = outcome;
  const end = state === "proposed" ? "" : ` [${[state, ...Object.values(details).flat()].join(" ")}]`;
  return [
    `  ${kind}${by === "model" ? " (model)" : ""} in ${what}: ${reason}${end}`,
    ...remove.map((entry) => `    - ${indented(entry, 6)}`),
    ...(text === undefined ? [] : [`    + ${indented(text, 6)}`]),
    ...keep.map((entry) => `    = ${indented(entry, 6)}`),
  ];
}
