// The report of a migration as lines for a terminal.
import { ARCHIVED_REASON, type Item, type Report, type Status } from "@hermes-memory/import/internal";
import type { Paint, Style } from "../command.ts";
import { counted, printable } from "../printing.ts";

type Titles = Readonly<
  Record<Status, { readonly planned: string; readonly done: string; readonly style: Style }>
>;

const GROUPS: Titles = {
  migrated: { planned: "Would migrate", done: "Migrated", style: "green" },
  archived: {
    planned: "Would archive, because Hermes has no direct place for it",
    done: "Archived, because Hermes has no direct place for it",
    style: "cyan",
  },
  conflict: { planned: "Conflicts", done: "Conflicts", style: "yellow" },
  skipped: { planned: "Skipped", done: "Skipped", style: "dim" },
  error: { planned: "Errors", done: "Errors", style: "red" },
};
const ORDER: readonly Status[] = ["migrated", "archived", "conflict", "skipped", "error"];

/** `output` is the folder of the run: paths in it are shown relative to it. */
export function reportLines(report: Report, output: string, userHome: string, paint: Paint): string[] {
  const isPlan = report.mode === "dry-run";
  const lines: string[] = [];
  const shown = (path: string): string =>
    path.startsWith(output) ? printable(path.slice(output.length + 1)) : shownPath(path, userHome);
  for (const status of ORDER) {
    const items = report.items.filter((item) => item.status === status);
    // Options for which OpenClaw has nothing are only counted.
    const listed = items.filter((item) => status !== "skipped" || item.source !== null);
    if (items.length === 0) continue;
    const { planned, done, style } = GROUPS[status];
    lines.push(paint(style, isPlan ? planned : done));
    const width = Math.max(0, ...listed.map(({ kind }) => kind.length));
    lines.push(...listed.map((item) => `  ${item.kind.padEnd(width)}  ${itemText(item, shown)}`));
    const rest = items.length - listed.length;
    if (rest > 0) lines.push(`  ${counted(rest, "option")} without anything to migrate`);
    lines.push("");
  }
  const counts = ORDER.map((status) => `${report.summary[status]} ${status}`).join(", ");
  lines.push(`Summary: ${counts}.`);
  lines.push(...report.warnings.map((warning) => `${paint("yellow", "warning:")} ${printable(warning)}`));
  if (report.output_dir !== null) lines.push(`Report: ${shownPath(report.output_dir, userHome)}`);
  lines.push(...report.next_steps.map((step) => `- ${printable(step)}`));
  return lines;
}

function itemText(item: Item, shown: (path: string) => string): string {
  const { source, destination, reason, status } = item;
  const places = [source, status === "skipped" ? null : destination]
    .flatMap((path) => (path === null ? [] : [shown(path)]))
    .join(" -> ");
  const isUsual = reason.startsWith("Would ") || reason === ARCHIVED_REASON; // the group's title says it
  const facts = [factsOf(item.details), isUsual ? "" : printable(reason)].filter((text) => text !== "");
  return facts.length === 0 ? places : `${places === "" ? "" : `${places}: `}${facts.join("; ")}`;
}

/** The numbers and names that a reader needs to decide. */
function factsOf(details: Item["details"]): string {
  const facts: string[] = [];
  const number = (key: string): number => (typeof details[key] === "number" ? details[key] : 0);
  const names = (key: string): string => {
    const value = details[key];
    return Array.isArray(value) ? value.map((name) => printable(String(name))).join(", ") : "";
  };
  if (names("parts") !== "") facts.push(names("parts"));
  if (details.added_entries !== undefined)
    facts.push(counted(number("added_entries"), "new entry", "new entries"));
  if (number("duplicate_entries") > 0) facts.push(`${number("duplicate_entries")} already there`);
  if (number("overflowed_entries") > 0)
    facts.push(`${number("overflowed_entries")} without room, kept in the archive`);
  if (number("refused_entries") > 0)
    facts.push(`${number("refused_entries")} refused by the scan (${names("findings")})`);
  if (number("removed_since_last_import") > 0)
    facts.push(`${number("removed_since_last_import")} removed since the last import`);
  if (details.sessions_added !== undefined)
    facts.push(
      `${counted(number("sessions_added"), "session")}, ${counted(number("messages_added"), "message")}`,
    );
  if (names("added_keys") !== "") facts.push(names("added_keys"));
  if (names("added") !== "") facts.push(names("added"));
  const conflicting = names("conflicting_keys") || names("conflicting");
  if (conflicting !== "") facts.push(`different values for ${conflicting}`);
  if (typeof details.renamed_from === "string") facts.push(`renamed from ${printable(details.renamed_from)}`);
  if (names("links_not_followed") !== "") facts.push(`not followed: ${names("links_not_followed")}`);
  return facts.join(", ");
}

/** With `~` for the home folder. */
export function shownPath(path: string, userHome: string): string {
  const isBelow = path === userHome || path.startsWith(`${userHome}/`) || path.startsWith(`${userHome}\\`);
  return printable(isBelow ? `~${path.slice(userHome.length)}` : path);
}
