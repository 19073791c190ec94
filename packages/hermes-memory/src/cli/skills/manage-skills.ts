// `hermes skills list`, `view`, `path`, `new`, `disable`, `enable`, `history` and `undo`.
import { existsSync } from "node:fs";
import { setConfigValue } from "@hermes-memory/core/internal/config";
import { usable } from "@hermes-memory/core/internal/memory";
import {
  changeSkill,
  findUsable,
  type HistoryEntry,
  type Provenance,
  provenanceOf,
  readOrigins,
  readUsage,
  type Skill,
  type SkillUsage,
  skillHistory,
  undoSkillChange,
  viewSkill,
  viewSkillFile,
} from "@hermes-memory/core/internal/skills";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  unwrap,
} from "../command.ts";
import { counted, localTime, oneLine, printable } from "../printing.ts";
import { openSkills, skillFailure } from "./skill-command.ts";

const DESCRIPTION_CHARS = 70;

type Row = {
  readonly name: string;
  readonly description: string;
  readonly category: string | null;
  readonly directory: string;
  readonly provenance: Provenance;
  readonly pinned: boolean;
  /** Why agents do not see it; null when they do. */
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
  // The user may read skills that are hidden from agents.
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

/**
 * The same rules as for agents, except that the text is not scanned for threat patterns, because it is the user's own. Credentials and
 * disguised text are refused here, too.
 */
export const create: CommandBody = async ({ args, flags }, context) => {
  const { name = "" } = args;
  const { category, description } = flags;
  const content = flags.stdin === true ? await context.io.readInput() : frame(name, description);
  const store = await openSkills(context, flags);
  const call = {
    action: "create",
    name,
    content,
    category: typeof category === "string" ? category : undefined,
  };
  const { reply, changeId, warning } = unwrap(
    await changeSkill(store, call, { origin: "cli" }),
    skillFailure,
  );
  const file = String(reply.skill_md);
  return {
    json: { success: true, ...reply, change_id: changeId, warning },
    lines: [printable(String(reply.message)), file],
    notes: [
      ...(flags.stdin === true ? [] : ["Fill in the parts in brackets; agents see the skill at once."]),
      ...(warning === undefined ? [] : [warning]),
    ],
  };
};

function frame(name: string, description: unknown): string {
  if (typeof description !== "string" || description.trim() === "") {
    throw new CommandFailure("A skill needs a description: agents choose by it.", {
      exitCode: 2,
      hint: "Pass --description 'what it is for and when to use it', or a whole SKILL.md with --stdin.",
      details: { kind: "missing_arg" },
    });
  }
  return [
    "---",
    `name: ${name}`,
    `description: ${JSON.stringify(description.trim())}`, // JSON is YAML
    "---",
    "",
    `# ${name}`,
    "",
    "## When to use",
    "[In which situations, and in which not.]",
    "",
    "## Steps",
    "1. [The first step, with the exact command.]",
    "",
    "## Pitfalls",
    "- [What goes wrong, and how to notice.]",
    "",
  ].join("\n");
}

// Switching skills off and on, with lists of names in config.yaml.

export const disable: CommandBody = async (input, context) => {
  const store = await openSkills(context);
  // The list holds the skill's name, even if the user gave its path.
  const { name } = unwrap(await store.find(input.args.name ?? ""), skillFailure);
  return change(input, context, { name, isOff: true, names: [name] });
};

/** Also for a deleted skill, whose name may still be in the list. */
export const enable: CommandBody = async (input, context) => {
  const store = await openSkills(context);
  const asked = input.args.name ?? "";
  const found = await store.find(asked);
  const names = found.ok ? [found.value.name, found.value.directoryName, asked] : [asked];
  return change(input, context, { name: found.ok ? found.value.name : asked, isOff: false, names });
};

type Wanted = { readonly name: string; readonly isOff: boolean; readonly names: readonly string[] };

async function change(
  { flags }: CommandInput,
  { memory }: CommandContext,
  { name, isOff, names }: Wanted,
): Promise<CommandOutcome> {
  const platform = typeof flags.platform === "string" ? flags.platform : undefined;
  if (platform !== undefined && !/^[\w-]+$/.test(platform))
    throw new CommandFailure(`'${platform}' is not the name of a platform.`, { exitCode: 2 });
  const { skills } = await memory.config();
  const key = platform === undefined ? "skills.disabled" : `skills.platform_disabled.${platform}`;
  const before = platform === undefined ? skills.disabled : (skills.platformDisabled[platform] ?? []);
  const rest = before.filter((each) => !names.includes(each));
  const after = isOff ? [...rest, name] : rest;
  const isChanged = isOff ? !before.includes(name) : rest.length < before.length;
  if (isChanged) usable(await setConfigValue(memory.home, key, JSON.stringify(after)));
  const where = platform === undefined ? "" : ` on ${platform}`;
  const state = isOff ? "switched off" : "switched on";
  return {
    json: {
      success: true,
      name,
      disabled: isOff,
      key,
      value: isChanged ? after : before,
      changed: isChanged,
    },
    lines: [printable(`The skill '${name}' is ${isChanged ? "now" : "already"} ${state}${where}.`)],
    notes: isChanged ? ["Running sessions keep the list they started with."] : [],
  };
}

const DEFAULT_LIMIT = 20;

export const history: CommandBody = async ({ flags }, context) => {
  const all = skillHistory(await openSkills(context));
  const lines = all.slice(0, typeof flags.limit === "number" ? flags.limit : DEFAULT_LIMIT);
  const more = `The newest ${lines.length} of ${all.length} changes; --limit ${all.length} lists them all.`;
  return {
    json: lines,
    lines: lines.length > 0 ? lines.map((line) => render(line, context)) : ["No changes recorded."],
    notes: all.length > lines.length ? [more] : [],
  };
};

export const undo: CommandBody = async ({ args }, context) => {
  const store = await openSkills(context);
  const { undone, changeId } = unwrap(await undoSkillChange(store, args.id, { origin: "cli" }), skillFailure);
  return {
    json: {
      success: true,
      undone: undone.id,
      change_id: changeId,
      skill: undone.skill,
      action: undone.action,
    },
    lines: [printable(`Took back ${undone.id}: ${what(undone)}.`)],
    notes: [`'hermes skills undo ${changeId}' makes the change again.`],
  };
};

function render(entry: HistoryEntry, { io }: CommandContext): string {
  const head = `${localTime(entry.time)}  ${entry.id}  ${entry.origin.padEnd(7)}  ${what(entry)}`;
  const mark =
    entry.undone_by === undefined ? "" : `  ${io.paint("yellow", `[undone by ${entry.undone_by}]`)}`;
  return printable(head) + mark;
}

function what({ action, undoes, path, file, moved, absorbed_into }: HistoryEntry): string {
  const verb = undoes === undefined ? action : `${action} of ${undoes}`;
  const place = file === null ? path : `${path}/${file}`;
  const target =
    moved?.to.startsWith(".archive/") && !moved.to.startsWith(".archive/.deleted/") ? ` -> ${moved.to}` : "";
  return `${verb} ${place}${target}${absorbed_into ? ` (absorbed into ${absorbed_into})` : ""}`;
}
