// The report of a migration: its fields, `report.json`, `summary.md` and `MIGRATION_NOTES.md`. Credentials are replaced in all of it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "@hermes-memory/core/internal/lib";
import { listOf, recordOf } from "../transcripts/kit/values.ts";
import type { Item, Status } from "./operation.ts";
import { OPTION_IDS, OPTIONS, PRESETS } from "./options.ts";
import type { Plan } from "./plan.ts";
import { recordFolder } from "./runs.ts";
import type { Redactor } from "./secrets.ts";

/** The field names of `report.json`. */
export type Report = {
  readonly timestamp: string;
  readonly mode: "execute" | "dry-run";
  /** `started`: the process ended before the run did. */
  readonly state: "started" | "finished";
  readonly source_root: string;
  readonly target_root: string;
  readonly workspace_target: string | null;
  readonly output_dir: string | null;
  readonly snapshot: string | null;
  readonly migrate_secrets: boolean;
  readonly preset: string | null;
  readonly skill_conflict_mode: string;
  readonly selection: object;
  readonly summary: Readonly<Record<Status, number>>;
  readonly items: readonly Item[];
  readonly warnings: readonly string[];
  readonly next_steps: readonly string[];
};

type Told = {
  readonly mode: Report["mode"];
  readonly state: Report["state"];
  readonly now: Date;
  readonly snapshot?: string;
};

const STATUSES: readonly Status[] = ["migrated", "archived", "skipped", "conflict", "error"];

/** Nothing in the returned object holds a credential. */
export function reportOf(plan: Plan, items: readonly Item[], told: Told): Report {
  const { request, redactor } = plan;
  const { selection, skillConflict } = request;
  const safe = items.map((item) => redactedItem(item, redactor));
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
    warnings: warningsFor(plan, safe, summary),
    next_steps: nextSteps(plan, safe, told.mode),
  };
}

function redactedItem(item: Item, redactor: Redactor): Item {
  const { source, destination, reason, details } = item;
  return {
    ...item,
    source: source && redactor.text(source),
    destination: destination && redactor.text(destination),
    reason: redactor.text(reason),
    details: Object.fromEntries(
      Object.entries(details).map(([key, value]) => [key, eachText(value, redactor.text)]),
    ),
  };
}

function eachText(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  return Array.isArray(value) ? value.map((item) => eachText(item, change)) : value;
}

function countedItems(items: readonly Item[]): Record<Status, number> {
  const counts = { migrated: 0, archived: 0, skipped: 0, conflict: 0, error: 0 };
  for (const { status } of items) counts[status] += 1;
  return counts;
}

function warningsFor(
  { request, isContinued }: Plan,
  items: readonly Item[],
  summary: Report["summary"],
): string[] {
  const warnings: string[] = [];
  const conflicts = items.filter(hasConflict).length;
  if (conflicts > 0)
    warnings.push(
      `${conflicts} of the items conflict with what is there and are left alone; --overwrite replaces them (skills: --skill-conflict).`,
    );
  if (summary.error > 0) warnings.push(`${summary.error} of the items could not be read or written.`);
  const hasKeys = items.some(
    ({ details }) => typeof details.keys_found === "number" && details.keys_found > 0,
  );
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

function nextSteps({ request, output }: Plan, items: readonly Item[], mode: Report["mode"]): string[] {
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
    steps.push(`Read ${join(output, "summary.md")}.`);
    steps.push("Start a new session: imported memory is visible in new sessions only.");
    steps.push("When everything works, 'hermes claw cleanup' renames the OpenClaw folder.");
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
    write("MIGRATION_NOTES.md", notesText(plan, report));
  }
  const text = `${JSON.stringify(report, null, 2)}\n`;
  write("report.json", text); // last: it says that the run is finished
  const record = recordFolder(plan.request.home, plan.output, new Date(report.timestamp));
  if (report.state !== "finished" || record === undefined) return;
  mkdirSync(record, { recursive: true, mode: 0o700 });
  writeFileAtomic(join(record, "report.json"), text, { mode: 0o600 });
}

function summaryText(report: Report): string {
  const open = report.items.filter(
    ({ status }) => status === "skipped" || status === "conflict" || status === "error",
  );
  return document([
    "# Migration from OpenClaw",
    [
      `- Timestamp: ${report.timestamp}`,
      `- Mode: ${report.mode}`,
      `- Source: ${inline(report.source_root)}`,
      `- Target: ${inline(report.target_root)}`,
    ],
    "## Summary",
    STATUSES.map((status) => `- ${status}: ${report.summary[status]}`),
    ...(report.warnings.length > 0 ? ["## Warnings", report.warnings.map((warning) => `- ${warning}`)] : []),
    "## What Was Not Fully Brought Over",
    open.length === 0 ? "Nothing is left." : open.map(itemLine),
    "## Next Steps",
    report.next_steps.length === 0 ? "None." : report.next_steps.map((step) => `- ${step}`),
  ]);
}

function notesText({ source: { config } }: Plan, { items, output_dir: output }: Report): string {
  const archived = items.filter(({ status }) => status === "archived");
  const conflicts = items.filter(({ status }) => status === "conflict");
  const parts = archived.flatMap(({ details }) => listOf(details.parts));
  const hasCron = parts.includes("cron") || (parts.length > 0 && config.cron !== undefined);
  const hasWhatsApp = parts.length > 0 && recordOf(config.channels)?.whatsapp !== undefined;
  const overflow = items.filter(({ details }) => Number(details.overflowed_entries ?? 0) > 0);
  const refused = items.filter(({ details }) => Number(details.refused_entries ?? 0) > 0);
  return document([
    "# Notes on this migration",
    "OpenClaw's folder was not changed, and services that start OpenClaw (systemd, launchd, cron, Docker) still do.",
    "## Archived for review",
    archived.length === 0 ? "Nothing." : archived.map(itemLine),
    ...(overflow.length > 0
      ? [
          "## Entries without room",
          "'hermes memory archive list' shows them, 'hermes memory archive restore' brings one back.",
          overflow.map(({ kind, details }) => `- ${kind}: ${String(details.overflowed_entries)} entries`),
        ]
      : []),
    ...(refused.length > 0
      ? [
          "## Entries that the safety scan refused",
          refused.map(
            ({ kind, details }) =>
              `- ${kind}: ${String(details.refused_entries)} (${String(details.findings)}), in ${inline(join(String(output), "overflow"))}`,
          ),
        ]
      : []),
    "## Conflicts",
    conflicts.length === 0 ? "None." : conflicts.map(itemLine),
    "## To do",
    [
      "- Check the model and its key with 'hermes model test'.",
      ...(hasCron
        ? ["- Cron jobs were archived, not converted: set them up again where they should run."]
        : []),
      ...(hasWhatsApp ? ["- WhatsApp has to be paired again."] : []),
      "- When everything works, run 'hermes claw cleanup'.",
    ],
  ]);
}

function itemLine({ kind, source, destination, reason }: Item): string {
  const from = source === null ? "" : ` ${inline(source)}`;
  const to = destination === null ? "" : ` -> ${inline(destination)}`;
  return `- ${kind}:${from}${to}${reason === "" ? "" : `: ${plainLine(reason)}`}`;
}

/** A path as code. A hostile file name cannot break out of the line. */
function inline(text: string): string {
  return `\`${plainLine(text).replaceAll("`", "'")}\``;
}

function plainLine(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, " ");
}

function document(blocks: readonly (string | readonly string[])[]): string {
  return `${blocks.map((block) => (typeof block === "string" ? block : block.join("\n"))).join("\n\n")}\n`;
}
