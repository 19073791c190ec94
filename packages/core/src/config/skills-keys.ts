// The keys under `skills` in the table of config keys.
import { type ConfigKey, key } from "./config-key.ts";

export const SKILLS_KEYS: readonly ConfigKey[] = [
  key("skills.write_approval", "approval", false, "Stage skill changes for review."),
  key(
    "skills.creation_nudge_interval",
    "number",
    10,
    "Model calls with tools between two reminders to write a skill; 0 for none.",
  ),
  key("skills.allow_secrets", "boolean", false, "Write skills that hold something like a credential."),
  key("skills.external_dirs", "list", [], "More places to look for skills, after the home's own."),
  key("skills.disabled", "list", [], "Skills the agent neither sees nor loads."),
  key("skills.platform_disabled.*", "list", undefined, "The same for one platform, such as telegram."),
  key(
    "skills.template_vars",
    "boolean",
    true,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the names as a skill writes them
    "Fill in ${HERMES_SKILL_DIR} and ${HERMES_SESSION_ID} when a skill is loaded.",
  ),
  key(
    "skills.guard_agent_created",
    "unused",
    undefined,
    "Accepted because files of the original carry it; what an agent writes is always scanned.",
  ),
  key(
    "skills.inline_shell",
    "unused",
    undefined,
    "Accepted because files of the original carry it; skills run no commands when they are loaded.",
  ),
  key(
    "skills.inline_shell_timeout",
    "unused",
    undefined,
    "Accepted because files of the original carry it; nothing reads it.",
  ),
];
