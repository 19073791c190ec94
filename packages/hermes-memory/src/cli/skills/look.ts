// list, view, path.
import { existsSync } from "node:fs";
import {
  findUsable,
  type Provenance,
  provenanceOf,
  readOrigins,
  readUsage,
  type Skill,
  type SkillUsage,
  viewSkill,
  viewSkillFile,
} from "@hermes-memory/core/skills";
import type { CommandBody, CommandContext } from "../command.ts";
import { unwrap } from "../command.ts";
import { counted, oneLine, printable } from "../printing.ts";
import { openSkills, skillFailure } from "./open.ts";

const DESCRIPTION_CHARS = 70;

type Row = {
  readonly name: string;
  readonly description: string;
  readonly category: string | null;
  readonly directory: string;
  readonly provenance: Provenance;
  readonly pinned: boolean;
  /** Null: agents see it. */
  readonly hidden: string | null;
  readonly usage: SkillUsage | null;
};

export const list: CommandBody = async ({ flags }, context) => {
  const store = await openSkills(context);
  const { skills: visible, contents } = await store.visible();
  const origins = readOrigins(store);
  const usage = readUsage(store);
  const toRow = (skill: Skill): Row => ({
    name: skill.name,
    description: skill.header.description,
    category: skill.category,
    directory: skill.directory,
    provenance: provenanceOf(skill, origins),
    pinned: usage.get(skill.directoryName)?.pinned ?? false,
    hidden: store.hiddenReason(skill) ?? (visible.includes(skill) ? null : "shadowed"),
    usage: usage.get(skill.directoryName) ?? null,
  });
  const rows = (flags.all === true ? contents.skills : visible)
    .map(toRow)
    .filter(({ category }) => flags.category === undefined || category === flags.category)
    .sort(byCategory);
  const hiddenCount = contents.skills.length - visible.length;
  const more = `${counted(hiddenCount, "skill")} not shown; --all lists every one.`;
  return {
    json: { skills: rows, count: rows.length },
    lines: rows.length === 0 ? ["No skills."] : linesOf(rows, context),
    notes: [
      ...contents.warnings.map(printable),
      ...(hiddenCount > 0 && flags.all !== true ? [more] : []),
      ...(contents.skills.length === 0
        ? [`Skills live in ${store.directory}. Write one with 'hermes skills new <name>'.`]
        : []),
    ],
  };
};

export const view: CommandBody = async ({ args }, context) => {
  const store = await openSkills(context);
  const usable = await findUsable(store, args.name ?? "");
  // A person may read what agents do not get to see.
  const isHidden = !usable.ok && (usable.error.kind === "disabled" || usable.error.kind === "unsupported");
  const skill = unwrap(isHidden ? await store.find(args.name ?? "") : usable, skillFailure);
  if (args.file !== undefined && args.file !== "SKILL.md") {
    const file = unwrap(viewSkillFile(skill, args.file), skillFailure);
    return { json: { success: true, ...file }, lines: [printable(file.content.replace(/\n$/, ""))] };
  }
  const shown = unwrap(await viewSkill(store, skill), skillFailure);
  const linked = Object.values(shown.linked_files ?? {}).flat();
  return {
    json: { success: true, ...shown },
    lines: [printable(shown.content.replace(/\n$/, ""))],
    notes: [
      ...(isHidden ? [printable(usable.error.message)] : []),
      ...(linked.length > 0 ? [`Files: ${linked.map(printable).join(", ")}`] : []),
      ...(shown.setup_note === undefined ? [] : [printable(shown.setup_note)]),
      ...(shown.security_findings === undefined
        ? []
        : [`warning: the text matches ${shown.security_findings.join(", ")}. Read it before an agent does.`]),
    ],
  };
};

export const path: CommandBody = async ({ args }, context) => {
  const store = await openSkills(context);
  const directory =
    args.name === undefined ? store.directory : unwrap(await store.find(args.name), skillFailure).directory;
  const exists = existsSync(directory);
  return {
    json: { path: directory, exists },
    lines: [directory],
    notes: exists ? [] : ["The directory does not exist yet; the first skill makes it."],
  };
};

function linesOf(rows: readonly Row[], { io }: CommandContext): string[] {
  const width = Math.min(30, Math.max(...rows.map(({ name }) => [...name].length)));
  return [...Map.groupBy(rows, ({ category }) => category ?? "")].flatMap(([category, members]) => [
    ...(category === "" ? [] : [io.paint("bold", printable(category))]),
    ...members.map((row) => {
      const marks = [
        row.hidden,
        row.pinned ? "pinned" : null,
        row.provenance === "agent" ? null : row.provenance,
      ];
      const shown = marks.filter((mark) => mark !== null).map((mark) => io.paint("yellow", `[${mark}] `));
      const label = oneLine(row.name).padEnd(width);
      return `  ${label}  ${shown.join("")}${oneLine(row.description, DESCRIPTION_CHARS)}`;
    }),
  ]);
}

function byCategory(a: Row, b: Row): number {
  const first = a.category ?? "";
  const second = b.category ?? "";
  if (first !== second) return first < second ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}
