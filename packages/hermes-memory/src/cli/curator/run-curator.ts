// `hermes curator run`: the run, its report as text and JSON, and the model it uses.
import {
  type CuratorMode,
  type CuratorRun,
  type CuratorScope,
  type Decided,
  type Finding,
  type Outcome,
  runCurator,
  type SkillMark,
} from "@hermes-memory/agent/internal/curator";
import { curatorModel } from "@hermes-memory/agent/internal/models";
import { type CommandBody, CommandFailure, type CommandInput, unwrap } from "../command.ts";
import { modelSources } from "../model/resolution.ts";
import { counted, indented, oneLine, printable } from "../printing.ts";
import { curatorFailure } from "./past-runs.ts";

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

// The report of a run: `-` an entry to remove, `+` a new one, `=` one that stays because of it.

function runLines(run: CuratorRun): string[] {
  const memory = run.decided.filter(({ proposal }) => proposal.layer === "memory");
  const skills = run.decided.filter(({ proposal }) => proposal.layer === "skills");
  return [
    headline(run),
    ...titled("Memory", memory.flatMap(decidedLines)),
    ...titled("Skills", [...skills.flatMap(decidedLines), ...run.marks.map(markLine)]),
    ...titled("To look at", run.findings.flatMap(findingLines)),
    ...closing(run),
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
    proposals: decided.map(decidedJson),
    findings,
    marks,
    model: { used: model.isUsed, calls: model.calls, failures: model.failures, dropped: model.dropped },
    notes,
    report: reportDirectory ?? null,
  };
}

function headline({ mode, summary, id }: CuratorRun): string {
  if (mode === "dry-run") return `Dry run: ${summary}. Nothing was written.`;
  return `Run ${id}: ${summary}.`;
}

function closing({ mode, decided, id }: CuratorRun): string[] {
  const count = (kind: Outcome["kind"]): number =>
    decided.filter(({ outcome }) => outcome.kind === kind).length;
  const lines: string[] = [];
  if (mode === "dry-run" && count("proposed") > 0)
    lines.push("Stage this with 'hermes curator run', or do it with 'hermes curator run --apply'.");
  if (count("staged") > 0)
    lines.push(
      `Do what was staged with 'hermes curator approve ${id}', drop it with 'hermes curator reject ${id}'.`,
    );
  if (count("applied") > 0) lines.push(`Take it back with 'hermes curator rollback ${id}'.`);
  return lines.length === 0 ? [] : ["", ...lines];
}

function titled(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", title, ...lines];
}

function decidedLines({ proposal, outcome }: Decided): string[] {
  const by = proposal.by === "model" ? " (model)" : "";
  if (proposal.layer === "skills") {
    const into = proposal.into ? ` -> ${proposal.into.name}` : "";
    const names = proposal.skills.join(", ");
    return [`  ${proposal.kind}${by}: ${names}${into}: ${proposal.reason}${outcomeText(outcome)}`];
  }
  const { kind, target, curation, reason } = proposal;
  return [
    `  ${kind}${by} in ${target}: ${printable(reason)}${outcomeText(outcome)}`,
    ...curation.remove.map((text) => `    - ${indented(text, 6)}`),
    ...(curation.text === undefined ? [] : [`    + ${indented(curation.text, 6)}`]),
    ...(curation.keep ?? []).map((text) => `    = ${indented(text, 6)}`),
  ];
}

function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case "proposed":
      return "";
    case "staged":
      return ` [staged as ${outcome.id}]`;
    case "applied":
      return ` [done as ${outcome.ids.join(", ")}]`;
    case "waiting":
      return ` [${outcome.reason}]`;
    case "refused":
      return ` [refused: ${printable(outcome.reason)}]`;
    default:
      return outcome satisfies never;
  }
}

function markLine({ skill, mark }: SkillMark): string {
  const words = { stale: "is stale", active: "is in use again", seed: "is counted from now on" };
  return `  ${skill} ${words[mark]}`;
}

function findingLines({ kind, target, entries, reason, by }: Finding): string[] {
  const head = `  ${kind}${by === "model" ? " (model)" : ""} in ${target}: ${counted(entries.length, "entry", "entries")}`;
  const what = entries.length === 0 ? `  ${kind} in ${target}` : head;
  return [`${what}, ${printable(reason)}`, ...entries.map((text) => `    ${oneLine(text, 100)}`)];
}

function decidedJson({ proposal, outcome }: Decided): object {
  const common = { layer: proposal.layer, kind: proposal.kind, by: proposal.by, reason: proposal.reason };
  const about =
    proposal.layer === "memory"
      ? {
          target: proposal.target,
          remove: proposal.curation.remove,
          text: proposal.curation.text ?? null,
          keep: proposal.curation.keep ?? [],
          archive: proposal.curation.isArchived ?? false,
        }
      : { skills: proposal.skills, into: proposal.into?.name ?? null };
  return { ...common, ...about, outcome: outcome.kind, ...outcomeJson(outcome) };
}

function outcomeJson(outcome: Outcome): object {
  if (outcome.kind === "staged") return { pending_id: outcome.id };
  if (outcome.kind === "applied") return { change_ids: outcome.ids };
  return "reason" in outcome ? { detail: outcome.reason } : {};
}
