// The report of a migration: its fields, and the files `report.json`, `summary.md` and `MIGRATION_NOTES.md`. Credentials are replaced in all of it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "@hermes-memory/core/internal/lib";
import { listOf, recordOf } from "../transcripts/kit/values.ts";
import { OPTION_IDS, OPTIONS, PRESETS } from "./options.ts";
import type { Plan } from "./plan.ts";
import type { Item, Status } from "./plan-context.ts";
import { recordFolder } from "./runs.ts";

/** The field names are those of `report.json`. */
export type Report = Readonly<ReturnType<typeof reportOf>>;

type Told = {
  readonly mode: "execute" | "dry-run";
  /** `started`: the process ended before the run did. */
  readonly state: "started" | "finished";
  readonly now: Date;
  readonly snapshot?: string;
};

/** Nothing in the returned object holds a credential. */
export function reportOf(plan: Plan, items: readonly Item[], told: Told) {
  const { request, redactor } = plan;
  const { selection, skillConflict } = request;
  const safe: readonly Item[] = JSON.parse(
    JSON.stringify(items, (_key, value) => (typeof value === "string" ? redactor.text(value) : value)),
  );
  const summary = countedItems(safe);
  return {
    timestamp: told.now.toISOString(),
    mode: told.mode,
    state: told.state,
    source_root: request.sourceRoot,
    target_root: request.home,
    workspace_target: request.workspaceTarget ?? null,
    output_dir: told.mode === "execute" ? plan.output : null,
    snapshot: told.snapshot ?? null,
    migrate_secrets: request.withSecrets,
    preset: selection.preset,
    skill_conflict_mode: skillConflict,
    selection: {
      selected: [...selection.selected].sort(),
      preset: selection.preset,
      skill_conflict_mode: skillConflict,
      available: OPTION_IDS.map((id) => ({ id, ...OPTIONS[id] })),
      presets: Object.entries(PRESETS).map(([id, selected]) => ({ id, selected: [...selected].sort() })),
    },
    summary,
    items: safe,
    warnings: warningsFor(plan, safe, summary.error),
    next_steps: nextSteps(plan, safe, told.mode),
  };
}

function countedItems(items: readonly Item[]): Record<Status, number> {
  const counts = { migrated: 0, archived: 0, skipped: 0, conflict: 0, error: 0 };
  for (const { status } of items) counts[status] += 1;
  return counts;
}

function warningsFor({ request, isContinued }: Plan, items: readonly Item[], errors: number): string[] {
  const warnings: string[] = [];
  const conflicts = items.filter(hasConflict).length;
  if (conflicts > 0)
    warnings.push(
      `${conflicts} of the items conflict with what is there and are left alone; --overwrite replaces them (skills: --skill-conflict).`,
    );
  if (errors > 0) warnings.push(`${errors} of the items could not be read or written.`);
  const hasKeys = items.some(({ details }) => Number(details.keys_found) > 0);
  if (!request.withSecrets && hasKeys)
    warnings.push("Keys were found and not imported; --migrate-secrets imports them.");
  const { partsOfArchive: parts } = request.selection;
  if (parts.length > 0)
    warnings.push(
      `${parts.map((id) => `'${id}'`).join(", ")} is part of 'archive', which is kept or left out as a whole.`,
    );
  if (isContinued) warnings.push("An earlier run was interrupted; this one continues it.");
  return warnings;
}

/** Also an item of which only some keys conflict. */
export function hasConflict({ status, details }: Item): boolean {
  const isListed = (list: unknown): boolean => Array.isArray(list) && list.length > 0;
  return status === "conflict" || isListed(details.conflicting_keys) || isListed(details.conflicting);
}

const SKILL_KINDS = ["skill", "shared-skills", "personal-skills", "project-skills"];

function nextSteps({ request, output, source }: Plan, items: readonly Item[], mode: Told["mode"]): string[] {
  const summary = countedItems(items);
  const conflicts = items.filter(hasConflict);
  const isSkill = ({ kind }: Item): boolean => SKILL_KINDS.includes(kind);
  const settling = [
    ...(conflicts.some((item) => !isSkill(item)) ? ["--overwrite"] : []),
    ...(conflicts.some(isSkill) ? ["--skill-conflict"] : []),
  ];
  const settle = `Run the command again with ${settling.join(" and ")} to settle what conflicts.`;
  const isNew = summary.migrated + summary.archived > 0;
  if (mode === "dry-run") {
    if (!isNew) return conflicts.length === 0 ? [] : [settle];
    const flags = [...settling, ...(request.withSecrets ? [] : ["--migrate-secrets"])];
    const also = flags.length === 0 ? "" : `, if you want with ${flags.join(" and ")}`;
    return [`Run the command again without --dry-run${also}.`];
  }
  const steps: string[] = [];
  if (isNew) {
    const parts = items.flatMap(({ status, details }) =>
      status === "archived" ? listOf(details.parts) : [],
    );
    steps.push(`Read ${join(output, "summary.md")}.`);
    if (parts.includes("cron") || (parts.length > 0 && source.config.cron !== undefined))
      steps.push("Cron jobs were archived, not converted: set them up again where they should run.");
    if (parts.length > 0 && recordOf(source.config.channels)?.whatsapp !== undefined)
      steps.push("Pair WhatsApp again.");
    steps.push("Check the model and its key with 'hermes model test'.");
    steps.push("Start a new session: imported memory is visible in new sessions only.");
    steps.push(
      "When everything works, 'hermes claw cleanup' renames the OpenClaw folder; services that start OpenClaw (systemd, launchd, cron, Docker) are left alone.",
    );
  }
  if (conflicts.length > 0) steps.push(settle);
  return steps;
}

// ---- Files ----

/** Writes `report.json`, and for a finished run also the two Markdown files. */
export function writeReport(plan: Plan, report: Report): void {
  mkdirSync(plan.output, { recursive: true, mode: 0o700 });
  const write = (name: string, text: string): void => {
    writeFileAtomic(join(plan.output, name), text, { mode: 0o600 });
  };
  if (report.state === "finished") {
    write("summary.md", summaryText(report));
    write("MIGRATION_NOTES.md", notesText(report));
  }
  const text = `${JSON.stringify(report, null, 2)}\n`;
  write("report.json", text); // last: it says that the run is finished
  const record = recordFolder(plan.request.home, plan.output, new Date(report.timestamp));
  if (report.state !== "finished" || record === undefined) return;
  mkdirSync(record, { recursive: true, mode: 0o700 });
  writeFileAtomic(join(record, "report.json"), text, { mode: 0o600 });
}

function summaryText(report: Report): string {
  const { timestamp, mode, source_root: source, target_root: target, summary, warnings, items } = report;
  const open = items.filter(({ status }) => status !== "migrated" && status !== "archived");
  return document(
    "# Migration from OpenClaw",
    bullets([
      `Timestamp: ${timestamp}`,
      `Mode: ${mode}`,
      `Source: ${inline(source)}`,
      `Target: ${inline(target)}`,
    ]),
    "## Summary",
    bullets(Object.entries(summary).map(([status, count]) => `${status}: ${count}`)),
    ...(warnings.length > 0 ? ["## Warnings", bullets(warnings)] : []),
    "## What Was Not Fully Brought Over",
    open.length === 0 ? "Nothing is left." : bullets(open.map(itemText)),
    "## Next Steps",
    report.next_steps.length === 0 ? "None." : bullets(report.next_steps),
  );
}

function notesText({ items, next_steps: steps }: Report): string {
  const listed = (status: Status): string =>
    bullets(items.filter((each) => each.status === status).map(itemText)) || "None.";
  return document(
    "# Notes on this migration",
    "OpenClaw's folder was not changed, and services that start OpenClaw (systemd, launchd, cron, Docker) still do.",
    ...["## Archived for review", listed("archived"), "## Conflicts", listed("conflict")],
    ...["## To do", bullets(steps) || "Nothing."],
  );
}

function itemText({ kind, source, destination, reason }: Item): string {
  const from = source === null ? "" : ` ${inline(source)}`;
  const to = destination === null ? "" : ` -> ${inline(destination)}`;
  return `${kind}:${from}${to}${reason === "" ? "" : `: ${plainLine(reason)}`}`;
}

/** A path as code. A hostile file name cannot break out of the line. */
function inline(text: string): string {
  return `\`${plainLine(text).replaceAll("`", "'")}\``;
}

function plainLine(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, " ");
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

function document(...blocks: readonly string[]): string {
  return `${blocks.join("\n\n")}\n`;
}
