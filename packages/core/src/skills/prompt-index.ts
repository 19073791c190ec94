// The list of skills in the system prompt. The same skills give the same bytes. Names and descriptions come from files, so
// they are scanned first, and none of them can close the list.
import { codePointLength, takeCodePoints } from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import { type AvailableTools, suitsTools } from "./catalog/visibility.ts";
import { MAX_NAME_CHARS } from "./limits.ts";
import type { SkillStore } from "./store.ts";
import type { Skill } from "./types.ts";

const LONGEST = 60;

const INSTRUCTION = [
  "## Skills",
  "",
  "Skills are instructions for certain kinds of work, written down because they proved right. Before you answer, look " +
    "through the list below. When one fits the task, even in part, load it with `skill_view` and follow it. When several " +
    "fit, load them all. A skill that turns out wrong or incomplete is to be put right at once, if you can.",
].join("\n");

export type IndexOptions = {
  /** Given: skills that need others, or only stand in for these, are left out. */
  readonly available?: AvailableTools;
};

/** Undefined when there is nothing to list. */
export async function buildSkillsIndex(
  store: SkillStore,
  options: IndexOptions = {},
): Promise<string | undefined> {
  const { skills, contents } = await store.visible();
  const { available } = options;
  const shown = available === undefined ? skills : skills.filter((skill) => suitsTools(skill, available));
  return renderSkillsIndex(shown, contents.categories);
}

/** Pure; the order of `skills` does not matter. */
function renderSkillsIndex(
  skills: readonly Skill[],
  categories: ReadonlyMap<string, string>,
): string | undefined {
  if (skills.length === 0) return undefined;
  const groups = Map.groupBy(skills, (skill) => skill.category ?? skill.relativePath);
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  const render = (hasDescriptions: boolean): string => {
    const lines = sorted.flatMap(([category, members]) => [
      `  ${categoryLine(category, hasDescriptions ? (categories.get(category) ?? "") : "")}`,
      ...[...members].sort(byName).map((skill) => `    - ${skillLine(skill, hasDescriptions)}`),
    ]);
    return `${INSTRUCTION}\n\n<available_skills>\n${lines.join("\n")}\n</available_skills>`;
  };
  // Two harmless lines can make a sentence that neither holds. Then names have to do.
  const whole = [render(true), render(false)].find((text) => scanThreats(text, "context").length === 0);
  return (
    whole ??
    `${INSTRUCTION}\n\n<available_skills>\n  [BLOCKED: the names of the skills form a threat pattern]\n</available_skills>`
  );
}

/** `text`, or a note that stands for it. Matches no pattern itself. */
export function screened(text: string, what: string): string {
  const ids = scanThreats(text, "context").map(({ id }) => id);
  return ids.length === 0 ? text : `[BLOCKED: this ${what} matches ${ids.join(", ")}]`;
}

function categoryLine(name: string, description: string): string {
  const label = `${safeName(name, "category name")}:`;
  return description === "" ? label : `${label} ${withoutTags(screened(description, "description"))}`;
}

function skillLine({ name, header }: Skill, hasDescription: boolean): string {
  const label = safeName(name, "skill name");
  if (!hasDescription || header.description === "") return label;
  // The whole description is scanned, also what is cut from it.
  const safe = screened(header.description, "description");
  return `${label}: ${safe === header.description ? withoutTags(shorten(safe)) : safe}`;
}

function safeName(name: string, what: string): string {
  return withoutTags(screened(takeCodePoints(name, MAX_NAME_CHARS), what));
}

function byName(a: Skill, b: Skill): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.relativePath < b.relativePath ? -1 : 1;
}

function shorten(description: string): string {
  return codePointLength(description) > LONGEST
    ? `${takeCodePoints(description, LONGEST - 3)}...`
    : description;
}

function withoutTags(text: string): string {
  return text.replace(/<[^\p{L}\p{N}<>]*available_skills\b[^<>]*>?/giu, "[tag removed]");
}
