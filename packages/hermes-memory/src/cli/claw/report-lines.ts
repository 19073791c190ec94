// The report of a migration as lines for a terminal.
import { ARCHIVED_REASON, type Item, type Report, type Status } from "@hermes-memory/import/internal";
import type { Paint, Style } from "../command.ts";
import { printable } from "../printing.ts";

const GROUPS: readonly (readonly [Status, planned: string, done: string, Style])[] = [
  ["migrated", "Would migrate", "Migrated", "green"],
  ["archived", `Would archive: ${ARCHIVED_REASON}`, `Archived: ${ARCHIVED_REASON}`, "cyan"],
  ["conflict", "Conflicts", "Conflicts", "yellow"],
  ["skipped", "Skipped", "Skipped", "dim"],
  ["error", "Errors", "Errors", "red"],
];

/** The numbers and names of `details` that a reader needs to decide. */
const FACTS = [
  ...["parts", "added_entries", "duplicate_entries", "overflowed_entries", "refused_entries", "findings"],
  ...["removed_since_last_import", "sessions_added", "messages_added", "added_keys", "added"],
  ...["conflicting_keys", "conflicting", "renamed_from", "links_not_followed"],
];

/** `output` is the folder of the run: paths in it are shown relative to it. */
export function reportLines(report: Report, output: string, userHome: string, paint: Paint): string[] {
  const shown = (path: string): string =>
    path.startsWith(output) ? printable(path.slice(output.length + 1)) : shownPath(path, userHome);
  const groups = GROUPS.flatMap(([status, planned, done, style]) => {
    // Options for which OpenClaw has nothing are only counted, in the summary.
    const items = report.items.filter((one) => one.status === status && (status !== "skipped" || one.source));
    const width = Math.max(0, ...items.map(({ kind }) => kind.length));
    const lines = items.map((item) => `  ${item.kind.padEnd(width)}  ${itemText(item, shown)}`);
    const title = report.mode === "dry-run" ? planned : done;
    return items.length === 0 ? [] : [paint(style, title), ...lines, ""];
  });
  return [
    ...groups,
    `Summary: ${GROUPS.map(([status]) => `${report.summary[status]} ${status}`).join(", ")}.`,
    ...report.warnings.map((warning) => `${paint("yellow", "warning:")} ${printable(warning)}`),
    ...(report.output_dir === null ? [] : [`Report: ${shownPath(report.output_dir, userHome)}`]),
    ...report.next_steps.map((step) => `- ${printable(step)}`),
  ];
}

function itemText(
  { source, destination, reason, details, status }: Item,
  shown: (path: string) => string,
): string {
  const paths = [source, status === "skipped" ? null : destination].filter((path) => path !== null);
  const isUsual = reason.startsWith("Would ") || reason === ARCHIVED_REASON; // the group's title says it
  const facts = FACTS.flatMap((name) => {
    const text = [details[name] ?? 0].flat().join(", ");
    return text === "0" || text === "" ? [] : [`${name.replaceAll("_", " ")} ${text}`];
  });
  const about = [...(isUsual || reason === "" ? [] : [reason]), ...facts].map(printable).join("; ");
  return [paths.map(shown).join(" -> "), about].filter((text) => text !== "").join(": ");
}

/** With `~` for the home folder. */
export function shownPath(path: string, userHome: string): string {
  const isBelow = path === userHome || path.startsWith(`${userHome}/`) || path.startsWith(`${userHome}\\`);
  return printable(isBelow ? `~${path.slice(userHome.length)}` : path);
}
