// A run as a person reads it: what would go, what would come, what stays because of it.
import type { CuratorRun, Decided, Finding, Outcome, SkillMark } from "@hermes-memory/agent/curator";
import { CommandFailure } from "../command.ts";
import { counted, indented, oneLine, printable } from "../printing.ts";

export function runLines(run: CuratorRun): string[] {
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

export function runJson(run: CuratorRun): object {
  const { id, mode, scope, summary, decided, findings, marks, model, notes, reportDirectory, snapshot } = run;
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
    snapshot: snapshot ?? null,
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
    return [`  ${proposal.kind}${by}: ${names}${into}: ${proposal.reason}${told(outcome)}`];
  }
  const { kind, target, curation, reason } = proposal;
  return [
    `  ${kind}${by} in ${target}: ${printable(reason)}${told(outcome)}`,
    ...curation.remove.map((text) => `    - ${indented(text, 6)}`),
    ...(curation.text === undefined ? [] : [`    + ${indented(curation.text, 6)}`]),
    ...(curation.keep ?? []).map((text) => `    = ${indented(text, 6)}`),
  ];
}

function told(outcome: Outcome): string {
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

/** For `unwrap`. */
export function curatorFailure({
  kind,
  message,
}: {
  readonly kind: string;
  readonly message: string;
}): CommandFailure {
  return new CommandFailure(printable(message), { details: { kind } });
}
