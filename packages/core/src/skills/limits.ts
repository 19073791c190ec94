// Numbers and names of the skills folder that other programs go by.

export const MAX_NAME_CHARS = 64;
export const MAX_DESCRIPTION_CHARS = 1024;
/** Of a SKILL.md that is written, in code points. */
export const MAX_CONTENT_CHARS = 100_000;
/** Of any other file of a skill. */
export const MAX_FILE_BYTES = 1_048_576;
/** More files than this are no skill any more, but a pile that an unattended agent made. */
export const MAX_SKILL_FILES = 50;

export const SKILL_FILE = "SKILL.md";
export const CATEGORY_FILE = "DESCRIPTION.md";

/** Where a skill keeps what SKILL.md points to. */
export const SUPPORT_DIRECTORIES = ["references", "templates", "scripts", "assets"] as const;

/** Never looked into. The last two hold what changes and clean-ups left behind. */
export const IGNORED_DIRECTORIES: ReadonlySet<string> = new Set([
  ".git",
  ".github",
  ".hub",
  ".archive",
  ".venv",
  "venv",
  "node_modules",
  "site-packages",
  "__pycache__",
  ".tox",
  ".nox",
  ".pytest_cache",
  ".mypy_cache",
  ".ruff_cache",
  ".history",
  ".curator_backups",
]);
