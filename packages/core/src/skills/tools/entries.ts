// The three skill tools as entries: one line for a person, what runs, the rules each runs under.
import { preview } from "../../lib/index.ts";
import {
  described,
  jsonOutcome,
  onOneLine,
  type Tool,
  type ToolArguments,
  type ToolDefinition,
  type UseStore,
} from "../../tools/index.ts";
import type { SkillStore } from "../store.ts";
import { skillManageSchema, skillsListSchema, skillViewSchema } from "./schemas.ts";
import { type SkillManageContext, skillManageTool } from "./skill-manage.ts";
import { skillViewTool } from "./skill-view.ts";
import { skillsListTool } from "./skills-list.ts";

export type OpenedSkills = {
  /** Undefined: switched off, and the tools say so. */
  readonly store: SkillStore | undefined;
  readonly context: SkillManageContext;
};

export function skillTools(use: UseStore<OpenedSkills>): readonly Tool[] {
  const entry = (
    definition: ToolDefinition,
    policy: Omit<Tool["policy"], "toolset">,
    previewOf: (args: ToolArguments) => string,
    answer: (args: ToolArguments, opened: OpenedSkills) => Promise<object>,
  ): Tool => ({
    ...described(definition),
    owner: { kind: "own" },
    policy: { toolset: "skills", ...policy },
    preview: previewOf,
    run: (args, call) => use(async (opened) => jsonOutcome(await answer(args, opened)), call),
  });
  return [
    entry(skillsListSchema, { effect: "read" }, skillsListPreview, (args, { store }) =>
      skillsListTool(store, args),
    ),
    entry(skillViewSchema, { effect: "read" }, skillViewPreview, (args, { store, context }) =>
      skillViewTool(store, args, context),
    ),
    entry(
      skillManageSchema,
      { effect: "write", isHousekeeping: true },
      skillManagePreview,
      (args, { store, context }) => skillManageTool(store, args, context),
    ),
  ];
}

function skillsListPreview(args: unknown): string {
  const category = field(args, "category");
  return category === "" ? "all skills" : `skills in ${category}`;
}

function skillViewPreview(args: unknown): string {
  return [field(args, "name"), field(args, "file_path")].filter((part) => part !== "").join(" ");
}

function skillManagePreview(args: unknown): string {
  const parts = [field(args, "action"), field(args, "name"), field(args, "file_path")];
  return parts.filter((part) => part !== "").join(" ");
}

function field(args: unknown, name: string): string {
  if (typeof args !== "object" || args === null) return "";
  const value = (args as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" ? preview(onOneLine(value), 60) : "";
}
