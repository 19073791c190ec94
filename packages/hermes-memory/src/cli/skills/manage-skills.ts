// `hermes skills list`, `view`, `path`, `new`, `disable`, `enable`, `history` and `undo`.
import { existsSync } from "node:fs";
import { setConfigValue } from "@hermes-memory/core/internal/config";
import { usable } from "@hermes-memory/core/internal/memory";
import {
  changeSkill,
  findUsable,
  provenanceOf,
  readOrigins,
  readUsage,
  type SkillError,
  type SkillStore,
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
import { secretHint } from "../memory/memory-command.ts";
import { counted, newestOf, oneLine, printable } from "../printing.ts";

export const list: CommandBody = async ({ flags }, context) => {
  const store = await openSkills(context);
  const { skills: visible, contents } = await store.visible();
  const origins = readOrigins(store);
  const usage = readUsage(store);
  const rows = (flags.all === true ? contents.skills : visible)
    .filter(({ category }) => flags.category === undefined || category === flags.category)
    .map((skill) => ({
      name: skill.name,
      description: skill.header.description,
      category: skill.category,
      directory: skill.directory,
      provenance: provenanceOf(skill, origins),
      pinned: usage.get(skill.directoryName)?.pinned ?? false,
      // Why agents do not see it; null when they do.
      hidden: store.hiddenReason(skill) ?? (visible.includes(skill) ? null : "shadowed"),
      usage: usage.get(skill.directoryName) ?? null,
    }))
    .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
  const shown = rows.map(({ category, name, hidden, pinned, provenance, description }) => {
    const marks = [hidden, pinned ? "pinned" : null, provenance === "agent" ? null : provenance];
    return { category, name, marks: marks.filter((mark) => mark !== null).join(", "), description };
  });
  const hiddenCount = contents.skills.length - visible.length;
  return {
    json: { skills: rows, count: rows.length },
    shown,
    notes: [
      ...contents.warnings.map(printable),
      ...(hiddenCount > 0 && flags.all !== true
        ? [`${counted(hiddenCount, "skill")} not shown; --all lists every one.`]
        : []),
      ...(contents.skills.length === 0
        ? [`Skills live in ${store.directory}. Write one with 'hermes skills new <name>'.`]
        : []),
    ],
  };
};

function sortKey({ category, name }: { readonly category: string | null; readonly name: string }): string {
  return `${category ?? ""}/${name}`;
}

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
  return {
    json: { success: true, ...reply, change_id: changeId, warning },
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
  { flags: { platform } }: CommandInput,
  { memory }: CommandContext,
  { name, isOff, names }: Wanted,
): Promise<CommandOutcome> {
  const isForAll = typeof platform !== "string";
  if (!isForAll && !/^[\w-]+$/.test(platform))
    throw new CommandFailure(`'${platform}' is not the name of a platform.`, { exitCode: 2 });
  const { skills } = await memory.config();
  const key = isForAll ? "skills.disabled" : `skills.platform_disabled.${platform}`;
  const before = isForAll ? skills.disabled : (skills.platformDisabled[platform] ?? []);
  const rest = before.filter((each) => !names.includes(each));
  const changed = isOff ? !before.includes(name) : rest.length < before.length;
  const value = !changed ? before : isOff ? [...rest, name] : rest;
  if (changed) usable(await setConfigValue(memory.home, key, JSON.stringify(value)));
  const message = `The skill '${name}' is ${changed ? "now" : "already"} switched ${isOff ? "off" : "on"}.`;
  return {
    json: { success: true, message, name, disabled: isOff, key, value, changed },
    notes: changed ? ["Running sessions keep the list they started with."] : [],
  };
}

export const history: CommandBody = async (input, context) => {
  const { shown, notes } = newestOf(skillHistory(await openSkills(context)), input);
  const columns = shown.map(({ id, time, origin, action, path: place, file, undoes, undone_by }) => {
    return { id, time, origin, action, path: file === null ? place : `${place}/${file}`, undoes, undone_by };
  });
  return { json: shown, shown: columns, notes };
};

export const undo: CommandBody = async ({ args }, context) => {
  const store = await openSkills(context);
  const { undone, changeId } = unwrap(await undoSkillChange(store, args.id, { origin: "cli" }), skillFailure);
  const { id, skill, action } = undone;
  return {
    json: {
      success: true,
      message: `Took back ${id}: ${action} ${skill}.`,
      undone: id,
      change_id: changeId,
      skill,
      action,
    },
    notes: [`'hermes skills undo ${changeId}' makes the change again.`],
  };
};

// Shared by the skill commands: opening the skills of the home, and rendering their errors.

export function openSkills(
  { memory }: CommandContext,
  flags: CommandInput["flags"] = {},
): Promise<SkillStore> {
  return memory.administrator.skills({ platform: "cli", allowSecrets: flags["allow-secret"] === true });
}

/** The second argument of `unwrap` for results of the skills layer. */
export function skillFailure({ kind, message, details = {} }: SkillError): CommandFailure {
  return new CommandFailure(printable(message), {
    exitCode: kind === "missing_arg" ? 2 : 1,
    details: { kind, ...details },
    hint: hintOf(details),
  });
}

const LISTS: Readonly<Record<string, string>> = {
  matches: "These fit:",
  available_skills: "There are:",
  available_files: "It has:",
};

function hintOf(details: Readonly<Record<string, unknown>>): string | undefined {
  const override = secretHint(details.findings, "skills");
  if (override !== undefined) return override;
  for (const [field, title] of Object.entries(LISTS)) {
    const items = details[field];
    if (Array.isArray(items) && items.length > 0)
      return [title, ...items.map((item) => `  ${oneLine(String(item), 200)}`)].join("\n");
  }
  return undefined;
}
