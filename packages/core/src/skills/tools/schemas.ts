// What a language model is told about the three tools. Plain object schemas: strict backends refuse anything cleverer.
import { SKILL_ACTIONS } from "../types.ts";

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
