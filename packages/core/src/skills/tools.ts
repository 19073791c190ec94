// The three skill tools: their schemas, their entries in the tool table, and what they do.
import { isApprovalOn } from "../config/index.ts";
import { describeCause, preview } from "../lib/index.ts";
import {
  described,
  jsonOutcome,
  onOneLine,
  type Tool,
  type ToolArguments,
  type ToolDefinition,
  type UseStore,
} from "../tools/index.ts";
import { stagePendingSkill, summaryOf } from "./approval.ts";
import { performCall, previewCall } from "./change/change-skill.ts";
import { parseSkillCall, type SkillCall } from "./change/skill-call.ts";
import { pendingSkillsDirectory } from "./paths.ts";
import { SKILL_ACTIONS, type Skill, type SkillAction, type SkillError, type SkillOrigin } from "./skill.ts";
import { type SkillStore, screened } from "./store.ts";
import { changeUsage, countView } from "./usage.ts";
import { findUsable, viewSkill, viewSkillFile } from "./view.ts";

// Schemas. Plain objects, because strict model servers refuse more complex ones.

/** Name, description and JSON Schema of the tool that lists skills. */
export const skillsListSchema = {
  name: "skills_list",
  description:
    "List the available skills with name, description and category. Load one with skill_view before you do work it covers.",
  parameters: {
    type: "object",
    properties: { category: { type: "string", description: "Only skills of this category." } },
    required: [],
  },
} as const;

/** Name, description and JSON Schema of the tool that loads a skill. */
export const skillViewSchema = {
  name: "skill_view",
  description:
    "Load a skill: its instructions, the files it links to and what it needs. With file_path, load one of those files.",
  parameters: {
    type: "object",
    properties: {
      name: { type: "string", description: "The skill's name, or category/name where a name is not enough." },
      file_path: {
        type: "string",
        description: "A file of the skill, such as 'references/api.md'. Leave it out for the skill itself.",
      },
    },
    required: ["name"],
  },
} as const;

/** Name, description and JSON Schema of the tool that creates and changes skills. */
export const skillManageSchema = {
  name: "skill_manage",
  description: [
    "Create, improve and tidy skills: instructions you keep for kinds of work that come up again.",
    "",
    "Create one after work that took several attempts, when the user corrected how you do something, or when you found a way that was not obvious. Describe a class of tasks, not a single case. Patch a skill as soon as it proves wrong or incomplete.",
    "Actions: 'create' (content is the whole SKILL.md), 'patch' (replace old_string by new_string, the usual way to improve one), 'edit' (rewrite SKILL.md whole), 'write_file' and 'remove_file' (files under references/, templates/, scripts/ or assets/), 'delete' (with absorbed_into when another skill took over its content, or '' when it is simply no longer needed).",
    "SKILL.md starts with YAML frontmatter between two lines '---' that holds name (equal to the skill's name) and description (what it is for and when to use it), followed by the instructions: when to use it, steps with exact commands, pitfalls, how to check the result.",
    "Every change can be undone by the user.",
  ].join("\n"),
  parameters: {
    type: "object",
    properties: {
      action: { type: "string", enum: SKILL_ACTIONS, description: "What to do." },
      name: {
        type: "string",
        description: "The skill's name: lower-case letters, digits, '.', '_' and '-', at most 64 characters.",
      },
      content: { type: "string", description: "The whole SKILL.md. Needed by 'create' and 'edit'." },
      category: {
        type: "string",
        description: "A folder to group skills by, such as 'devops'. Only for 'create'.",
      },
      file_path: {
        type: "string",
        description:
          "A file of the skill. Needed by 'write_file' and 'remove_file'; 'patch' takes SKILL.md without it.",
      },
      file_content: { type: "string", description: "The file's whole content. Needed by 'write_file'." },
      old_string: {
        type: "string",
        description: "The text to replace, with enough around it to fit one place only. Needed by 'patch'.",
      },
      new_string: { type: "string", description: "What takes its place; may be empty. Needed by 'patch'." },
      replace_all: { type: "boolean", description: "Let 'patch' replace every place that fits." },
      absorbed_into: {
        type: "string",
        description: "For 'delete': the skill that took over the content, or '' for none.",
      },
    },
    required: ["action", "name"],
  },
} as const;

// Entries: preview line, policy, and what runs.

type OpenedSkills = {
  /** Undefined: skills are switched off, and the tools say so. */
  readonly store: SkillStore | undefined;
  readonly context: SkillManageContext;
};

export function skillTools(use: UseStore<OpenedSkills>): readonly Tool[] {
  const entry = (
    definition: ToolDefinition,
    policy: Omit<Tool["policy"], "toolset">,
    preview: (args: ToolArguments) => string,
    answer: (args: ToolArguments, opened: OpenedSkills) => Promise<object>,
  ): Tool => ({
    ...described(definition),
    owner: { kind: "own" },
    policy: { toolset: "skills", ...policy },
    preview,
    run: (args, call) => use(async (opened) => jsonOutcome(await answer(args, opened)), call),
  });
  return [
    entry(
      skillsListSchema,
      { effect: "read" },
      (args) => (textArgument(args, "category") ? `skills in ${shown(args, "category")}` : "all skills"),
      (args, { store }) => skillsListTool(store, args),
    ),
    entry(
      skillViewSchema,
      { effect: "read" },
      (args) => shown(args, "name", "file_path"),
      (args, { store, context }) => skillViewTool(store, args, context),
    ),
    entry(
      skillManageSchema,
      { effect: "write", isHousekeeping: true },
      (args) => shown(args, "action", "name", "file_path"),
      (args, { store, context }) => skillManageTool(store, args, context),
    ),
  ];
}

/** The values of these arguments on one line, at most 60 characters each. */
function shown(args: unknown, ...names: readonly string[]): string {
  const values = names.flatMap((name) => textArgument(args, name) ?? []);
  return values.map((value) => preview(onOneLine(value), 60)).join(" ");
}

// skills_list

/** Never throws. */
export function skillsListTool(store: SkillStore | undefined, args: unknown): Promise<object> {
  return neverThrowing(async () => {
    if (!store) return UNAVAILABLE;
    const { skills } = await store.visible();
    if (skills.length === 0) {
      const message = `There are no skills yet. They live in ${store.directory}; skill_manage creates one.`;
      return { success: true, skills: [], categories: [], message };
    }
    const wanted = textArgument(args, "category");
    const listed = skills
      .filter(({ category }) => wanted === undefined || category === wanted)
      .sort(byCategory);
    const categories = new Set(skills.flatMap(({ category }) => (category === null ? [] : [category])));
    return {
      success: true,
      skills: listed.map(({ name, header, category }) => ({
        name: screened(name, "skill name"),
        description: screened(header.description, "description"),
        category: category === null ? null : screened(category, "category name"),
      })),
      categories: [...categories].sort().map((category) => screened(category, "category name")),
      count: listed.length,
      hint: "skill_view with a name loads the whole skill, with its tags and linked files.",
    };
  });
}

function byCategory(a: Skill, b: Skill): number {
  const first = a.category ?? "";
  const second = b.category ?? "";
  if (first !== second) return first < second ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

// skill_view: a skill or one of its files. Counts views.

/** The session that views a skill. */
export type SkillViewContext = {
  /** For `${HERMES_SESSION_ID}` in a skill. */
  readonly sessionId?: string;
};

/** Never throws. */
export function skillViewTool(
  store: SkillStore | undefined,
  args: unknown,
  context: SkillViewContext = {},
): Promise<object> {
  return neverThrowing(async () => {
    if (!store) return UNAVAILABLE;
    const name = textArgument(args, "name");
    if (name === undefined) return failure({ kind: "missing_arg", message: "name is required." });
    const problem = pathProblem(name);
    if (problem !== undefined) return failure({ kind: "invalid", message: problem });
    const skill = await findUsable(store, name);
    if (!skill.ok) return failure(skill.error);
    const file = textArgument(args, "file_path");
    const view =
      file === undefined || file === "SKILL.md"
        ? await viewSkill(store, skill.value, context)
        : viewSkillFile(skill.value, file);
    if (!view.ok) return failure(view.error);
    // The result is ignored: a failed count must not keep the agent from reading.
    if (!skill.value.isFlat) await changeUsage(store, new Map([[skill.value.directoryName, countView]]));
    return { success: true, ...view.value };
  });
}

function pathProblem(name: string): string | undefined {
  const isAbsolute = name.startsWith("/") || /^[A-Za-z]:[\\/]/.test(name);
  if (!isAbsolute && !name.split(/[/\\]/).includes("..")) return undefined;
  return "A skill is named by its name, or by its path below the skills directory, without '..'.";
}

// skill_manage: untyped arguments in, the tool's JSON out. The caller says who is writing and which actions are allowed.

/** Who changes skills, and whether changes need approval. */
export type SkillManageContext = {
  /** Default `tool`. */
  readonly origin?: SkillOrigin;
  /** The only actions this writer may use. Absent: all. */
  readonly allowed?: readonly SkillAction[];
  /** Config `skills.write_approval`: a boolean, or one of the words that mean yes. */
  readonly writeApproval?: boolean | string;
  /** Home for staged changes. Default: the store's home. */
  readonly home?: string;
  readonly sessionId?: string;
  /** Staged changes with the same group belong together. */
  readonly group?: string;
};

/** Never throws. */
export function skillManageTool(
  store: SkillStore | undefined,
  args: unknown,
  context: SkillManageContext = {},
): Promise<object> {
  return neverThrowing(async () => {
    if (!store) return UNAVAILABLE;
    const asked = (args as { readonly action?: unknown } | null | undefined)?.action;
    const { origin = "tool", allowed } = context;
    const call = parseSkillCall(args);
    if (!call.ok && call.error.kind === "bad_action") return failure(call.error);
    // Checks the action that was asked for and the one it becomes: writing SKILL.md as a file is an edit.
    const wanted = [asked, ...(call.ok ? [call.value.action] : [])];
    if (allowed && !wanted.every((action) => allowed.some((each) => each === action))) {
      const message = `The action '${String(asked)}' is not available here. Use: ${allowed.join(", ")}`;
      return failure({ kind: "not_allowed", message });
    }
    if (!call.ok) return failure(call.error);
    if (isApprovalOn(context.writeApproval) && origin !== "cli") return stage(store, call.value, context);
    const done = await performCall(store, call.value, { origin, sessionId: context.sessionId });
    if (!done.ok) return failure(done.error);
    const { reply, changeId, warning } = done.value;
    return { success: true, ...reply, change_id: changeId, warning };
  });
}

/** Plans the change first, so that the user is not asked about a change that would be refused. */
async function stage(store: SkillStore, call: SkillCall, context: SkillManageContext): Promise<object> {
  const { origin = "tool", group } = context;
  const plan = await previewCall(store, call, origin);
  if (!plan.ok) return failure(plan.error);
  const directory = pendingSkillsDirectory(context.home ?? store.home);
  const record = stagePendingSkill(directory, { call, origin, group }, store.clock.now());
  if (!record.ok) return failure(record.error);
  return {
    success: true,
    staged: true,
    pending_id: record.value.id,
    gist: summaryOf(call),
    message:
      "Staged for approval (skills.write_approval is on). Not yet saved — review with /skills pending.",
  };
}

function failure({ message, details }: SkillError): object {
  return { success: false, error: message, ...details };
}

/** A tool answers even if the store fails. */
async function neverThrowing(work: () => Promise<object>): Promise<object> {
  try {
    return await work();
  } catch (cause) {
    return { success: false, error: `Skills are not available: ${describeCause(cause)}.` };
  }
}

const UNAVAILABLE = {
  success: false,
  error: "Skills are not available. They may be switched off in this environment.",
} as const;

function textArgument(args: unknown, name: string): string | undefined {
  if (typeof args !== "object" || args === null) return undefined;
  const value = (args as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
