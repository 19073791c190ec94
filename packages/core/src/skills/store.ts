// The skills of one home: which there are, which one a name means, which an agent may see, and their list in the system prompt.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import {
  type Clock,
  codePointLength,
  err,
  ok,
  type Result,
  systemClock,
  takeCodePoints,
} from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import { Catalog, type CatalogContents } from "./catalog.ts";
import { skillsDirectory } from "./paths.ts";
import { MAX_NAME_CHARS, type Skill, type SkillError, shownName } from "./skill.ts";

/** Where skills are, and which of them are switched off. */
export type SkillStoreOptions = {
  readonly home: string;
  /** Config `skills.external_dirs`. */
  readonly externalDirs?: readonly string[];
  /** Config `skills.disabled`. */
  readonly disabled?: readonly string[];
  /** Config `skills.platform_disabled`. */
  readonly platformDisabled?: Readonly<Record<string, readonly string[]>>;
  /** The platform of the conversation: `cli`, `telegram`, ... */
  readonly platform?: string;
  /** Config `skills.template_vars`; default true. */
  readonly templateVars?: boolean;
  /** Config `skills.allow_secrets`: texts that look like credentials may be written; default false. */
  readonly allowSecrets?: boolean;
  /** For variables in paths and for the requirements of skills. Default: the process's environment. */
  readonly env?: Environment;
  /** As in `process.platform`. */
  readonly system?: string;
  readonly environments?: readonly string[];
  /** Longest wait for another process that changes skills. Default 10 seconds. */
  readonly lockTimeoutMs?: number;
  readonly clock?: Clock;
};

/** The skills of a home: the catalog, and where changes go. */
export class SkillStore {
  readonly home: string;
  /** The home's own skills; new skills are created here. */
  readonly directory: string;
  readonly externalDirs: readonly string[];
  readonly templateVars: boolean;
  readonly allowSecrets: boolean;
  readonly env: Environment;
  readonly lockTimeoutMs: number;
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly #visibility: VisibilityRules;

  constructor(options: SkillStoreOptions) {
    const { env = process.env, platform, platformDisabled = {} } = options;
    this.home = resolve(options.home);
    this.directory = skillsDirectory(this.home);
    this.env = env;
    this.externalDirs = (options.externalDirs ?? [])
      .map((path) => expand(path, this.home, env))
      .filter((path, index, all) => path !== this.directory && all.indexOf(path) === index);
    this.templateVars = options.templateVars ?? true;
    this.allowSecrets = options.allowSecrets ?? false;
    this.lockTimeoutMs = options.lockTimeoutMs ?? 10_000;
    this.clock = options.clock ?? systemClock;
    this.catalog = new Catalog([this.directory, ...this.externalDirs]);
    const forPlatform =
      platform !== undefined && Object.hasOwn(platformDisabled, platform) ? platformDisabled[platform] : [];
    this.#visibility = {
      disabled: new Set([...(options.disabled ?? []), ...(forPlatform ?? [])]),
      system: options.system ?? process.platform,
      environments: options.environments ? new Set(options.environments) : detectEnvironments(env),
    };
  }

  /** Every skill, including hidden ones. */
  contents(): Promise<CatalogContents> {
    return this.catalog.refresh();
  }

  /** The skills an agent may see; of two with the same name, the first. */
  async visible(): Promise<{ readonly skills: readonly Skill[]; readonly contents: CatalogContents }> {
    const contents = await this.contents();
    const names = new Set<string>();
    const skills = contents.skills.filter((skill) => {
      if (this.hiddenReason(skill) !== undefined || names.has(skill.name)) return false;
      names.add(skill.name);
      return true;
    });
    return { skills, contents };
  }

  hiddenReason(skill: Skill): HiddenReason | undefined {
    return hiddenReason(skill, this.#visibility);
  }

  /** By path, directory, frontmatter name or flat file. Finds hidden skills too. */
  async find(asked: string): Promise<Result<Skill, SkillError>> {
    return findIn(await this.contents(), asked);
  }
}

/**
 * With a `/`, `asked` is a path below a root (`./name` for a skill directly under it), the home's own root first. Otherwise it is
 * the name of a directory, of a frontmatter or of a flat file. If several skills have that name, none is chosen. Pure.
 */
export function findIn({ skills, flatSkills }: CatalogContents, asked: string): Result<Skill, SkillError> {
  const isPath = asked.includes("/");
  const path = asked.replace(/^\.\//, "").replace(/\/(SKILL\.md)?$/, "");
  const fits = isPath
    ? (skill: Skill) => skill.relativePath === path
    : (skill: Skill) => skill.directoryName === asked || skill.name === asked;
  const found = skills.filter(fits);
  const all = found.length > 0 ? found : flatSkills.filter(fits);
  const [first] = all;
  const shown = shownName(asked);
  if (first === undefined) return err({ kind: "not_found", message: `There is no skill '${shown}'.` });
  // Roots are searched in order, so a whole path is unambiguous.
  if (all.length === 1 || isPath) return ok(first);
  const matches = all.map(({ isExternal, directory, relativePath }) => {
    if (isExternal) return directory;
    return relativePath.includes("/") ? relativePath : `./${relativePath}`;
  });
  const message = `'${shown}' fits ${all.length} skills. Give the path of the one you mean.`;
  return err({ kind: "ambiguous", message, details: { matches } });
}

/** Expands `~`, `$NAME` and `${NAME}` like a shell. A relative path counts from the home. */
function expand(path: string, home: string, env: Environment): string {
  const filled = path
    .trim()
    .replace(
      /\$\{(\w+)\}|\$(\w+)/g,
      (whole, braced?: string, bare?: string) => env[braced ?? bare ?? ""] ?? whole,
    );
  const atHome = filled === "~" || filled.startsWith("~/") ? `${homedir()}${filled.slice(1)}` : filled;
  return resolve(home, atHome);
}

// Visibility: hides skills that are disabled, made for another system, or meant for another environment. Pure.

type VisibilityRules = {
  /** `skills.disabled` and the entries of `skills.platform_disabled` for the platform. */
  readonly disabled: ReadonlySet<string>;
  /** As in `process.platform`. */
  readonly system: string;
  /** Of `kanban`, `docker`, `s6`. */
  readonly environments: ReadonlySet<string>;
};

type HiddenReason = "disabled" | "platform" | "environment";

const SYSTEMS: Readonly<Record<string, string>> = { macos: "darwin", linux: "linux", windows: "win32" };

/** `environment` hides a skill from lists only. */
function hiddenReason(
  { name, directoryName, header }: Skill,
  rules: VisibilityRules,
): HiddenReason | undefined {
  if (rules.disabled.has(name) || rules.disabled.has(directoryName)) return "disabled";
  const { platforms, environments } = header;
  const systems = platforms.map((each) => SYSTEMS[each.toLowerCase()] ?? each.toLowerCase());
  if (platforms.length > 0 && !systems.includes(rules.system)) return "platform";
  if (environments.length > 0 && !environments.some((each) => rules.environments.has(each.toLowerCase())))
    return "environment";
  return undefined;
}

type AvailableTools = { readonly tools: readonly string[]; readonly toolsets: readonly string[] };

/** False if a required tool is missing, or if a tool is available that the skill only substitutes. */
function suitsTools({ header }: Skill, { tools, toolsets }: AvailableTools): boolean {
  return (
    header.requiresTools.every((each) => tools.includes(each)) &&
    header.requiresToolsets.every((each) => toolsets.includes(each)) &&
    !header.fallbackForTools.some((each) => tools.includes(each)) &&
    !header.fallbackForToolsets.some((each) => toolsets.includes(each))
  );
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Environments that a skill can be restricted to. */
function detectEnvironments(env: Environment): ReadonlySet<string> {
  const found = new Set<string>();
  if (env.HERMES_KANBAN_TASK) found.add("kanban");
  if (existsSync("/.dockerenv") || existsSync("/run/.containerenv")) found.add("docker");
  if (env.HERMES_S6_SUPERVISED_CHILD || existsSync("/run/s6")) found.add("s6");
  return found;
}

// The list of skills in the system prompt. The same skills give the same bytes. Names and descriptions come from files, so they
// are scanned first and cannot close the list.

const LONGEST = 60;

const INSTRUCTION = [
  "## Skills",
  "",
  "Skills are instructions for certain kinds of work, written down because they proved right. Before you answer, look " +
    "through the list below. When one fits the task, even in part, load it with `skill_view` and follow it. When several " +
    "fit, load them all. A skill that turns out wrong or incomplete is to be put right at once, if you can.",
].join("\n");

type IndexOptions = {
  /** When given, skills that need other tools, or only substitute for these, are left out. */
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
  // Two harmless lines can form a threat pattern together. Then only names are listed.
  const whole = [render(true), render(false)].find((text) => scanThreats(text, "context").length === 0);
  return (
    whole ??
    `${INSTRUCTION}\n\n<available_skills>\n  [BLOCKED: the names of the skills form a threat pattern]\n</available_skills>`
  );
}

/** `text`, or a note in its place if it matches a threat pattern. The note itself matches none. */
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
  // The whole description is scanned, including text that is cut.
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
