// The report of a run: `logs/curator/<time>/run.json` and `REPORT.md`. They do not quote memory entries: an entry that the user
// forgets has to be gone everywhere, and the journal and the staged writes have the texts already.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { errnoCode, namesIn, writeFileAtomic } from "@hermes-memory/core/internal/lib";
import type { CuratorRun, Decided, Outcome } from "./proposals.ts";

/** A run in the list of runs. */
export type RunRecord = {
  /** The group id of its changes; rollback takes it. */
  readonly id: string;
  readonly startedAt: string;
  readonly mode: string;
  readonly scope: string;
  /** Stays `running` when the process died. */
  readonly status: "running" | "done" | "stopped";
  readonly summary: string;
  readonly directory: string;
  /** Ids of the staged changes. */
  readonly staged: readonly string[];
};

function reportsDirectory(home: string): string {
  return join(home, "logs", "curator");
}

/** A new directory, also for two runs within one second. */
export function makeReportDirectory(home: string, now: Date): string {
  const stamp = now.toISOString().replace(/\D/g, "").slice(0, 14);
  const base = `${stamp.slice(0, 8)}-${stamp.slice(8)}`;
  mkdirSync(reportsDirectory(home), { recursive: true, mode: 0o700 });
  for (let count = 1; ; count += 1) {
    const path = join(reportsDirectory(home), count === 1 ? base : `${base}-${count}`);
    try {
      mkdirSync(path, { mode: 0o700 });
      return path;
    } catch (cause) {
      if (errnoCode(cause) !== "EEXIST") throw cause;
    }
  }
}

export type RunHead = Pick<CuratorRun, "id" | "startedAt" | "mode" | "scope">;

/** Written before anything is changed, so that a killed run can be found and rolled back. */
export function beginReport(directory: string, run: RunHead): void {
  write(directory, { ...headOf(run), status: "running", summary: "" });
}

/** For a run that was aborted; its changes until then are in the journals. */
export function stopReport(directory: string, run: RunHead): void {
  write(directory, { ...headOf(run), status: "stopped", summary: "stopped before the end" });
}

export function finishReport(directory: string, run: CuratorRun): void {
  write(directory, reportJson(run, "done"));
  writeFileAtomic(join(directory, "REPORT.md"), `${reportLines(run).join("\n")}\n`);
}

type WrittenRun = Omit<RunRecord, "startedAt" | "directory"> & { readonly started_at: string };

/** Newest first. Without reports that cannot be read, and those of other programs, which have other ids. */
export function readRuns(home: string): RunRecord[] {
  const records = namesIn(reportsDirectory(home)).flatMap((name): RunRecord[] => {
    const directory = join(reportsDirectory(home), name);
    try {
      const written = JSON.parse(readFileSync(join(directory, "run.json"), "utf8")) as WrittenRun;
      const { id, started_at: startedAt, mode, scope, status, summary, staged = [] } = written;
      return /^[0-9a-f]{8}$/.test(id)
        ? [{ id, startedAt, mode, scope, status, summary, directory, staged }]
        : [];
    } catch {
      return []; // another program's report, or an incomplete one
    }
  });
  return records.sort((a, b) => (a.directory < b.directory ? 1 : -1));
}

/** `2 applied, 1 staged; 3 findings`. */
export function summarise({
  decided,
  findings,
  marks,
}: Pick<CuratorRun, "decided" | "findings" | "marks">): string {
  const count = (kind: Outcome["kind"]): number =>
    decided.filter(({ outcome }) => outcome.kind === kind).length;
  const parts = (["applied", "staged", "proposed", "waiting", "refused"] as const).flatMap((kind) =>
    count(kind) === 0 ? [] : [`${count(kind)} ${kind}`],
  );
  if (marks.length > 0) parts.push(`${marks.length} marked`);
  if (findings.length > 0) parts.push(`${findings.length} to look at`);
  return parts.length === 0 ? "nothing to tidy" : parts.join(", ");
}

function write(directory: string, value: object): void {
  writeFileAtomic(join(directory, "run.json"), `${JSON.stringify(value, null, 2)}\n`);
}

function headOf({ id, startedAt, mode, scope }: RunHead): object {
  return { id, started_at: startedAt, mode, scope };
}

function reportJson(run: CuratorRun, status: string): object {
  const { decided, findings, marks, model, notes, durationSeconds } = run;
  const skills = decided.flatMap(({ proposal, outcome }) =>
    proposal.layer === "skills" && outcome.kind === "applied" ? [proposal] : [],
  );
  return {
    ...headOf(run),
    status,
    duration_seconds: durationSeconds,
    summary: run.summary,
    proposals: decided.map(proposalJson),
    findings: findings.map(({ kind, target, entries, by }) => ({
      kind,
      target,
      entries: entries.length,
      by,
    })),
    consolidated: skills.flatMap(({ skills: names, into }) =>
      into ? names.map((from) => ({ from, into: into.name })) : [],
    ),
    pruned: skills.flatMap(({ skills: names, into }) => (into ? [] : names)),
    marks,
    staged: decided.flatMap(({ outcome }) => (outcome.kind === "staged" ? [outcome.id] : [])),
    changes: decided.flatMap(({ outcome }) => (outcome.kind === "applied" ? outcome.ids : [])),
    model: { calls: model.calls, failures: model.failures, dropped: model.dropped },
    notes,
  };
}

function proposalJson({ proposal, outcome }: Decided): object {
  const { layer, kind, by } = proposal;
  const about =
    proposal.layer === "memory"
      ? { target: proposal.target, entries: proposal.curation.remove.length }
      : { skills: proposal.skills, into: proposal.into?.name };
  return { layer, kind, by, ...about, outcome: outcome.kind };
}

function reportLines(run: CuratorRun): string[] {
  const { decided, findings, marks, model, notes } = run;
  const outcome = ({ outcome: each }: Decided): string => {
    if (each.kind === "applied") return `applied as ${each.ids.join(", ")}`;
    return each.kind === "staged" ? `staged as ${each.id}` : each.kind;
  };
  const what = ({ proposal }: Decided): string => {
    if (proposal.layer === "memory") return `${proposal.kind} in ${proposal.target}, by ${proposal.by}`;
    const into = proposal.into ? ` into ${proposal.into.name}` : "";
    return `${proposal.kind}: ${proposal.skills.join(", ")}${into}`;
  };
  const section = <T>(title: string, list: readonly T[], line: (entry: T) => string): string[] =>
    list.length === 0 ? [] : ["", `## ${title}`, "", ...list.map((entry) => `- ${line(entry)}`)];
  return [
    `# Curator run ${run.id}`,
    "",
    `${run.startedAt}, ${run.mode}, ${run.scope}: ${run.summary}.`,
    ...section("Changes", decided, (each) => `${what(each)}: ${outcome(each)}`),
    ...section("Marks", marks, ({ skill, mark }) => `${skill}: ${mark}`),
    ...section(
      "To look at",
      findings,
      (each) => `${each.kind} in ${each.target} (${each.entries.length} entries)`,
    ),
    ...section("Notes", notes, (note) => note),
    "",
    `Model calls: ${model.calls}.`,
    ...(decided.some(({ outcome: { kind } }) => kind === "applied" || kind === "staged")
      ? [`Take back what was done with \`hermes curator rollback ${run.id}\`.`]
      : []),
  ];
}
