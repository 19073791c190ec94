// The skills of one home, bound to it for life: where they are, what is switched off, and the catalogue of them.
import { homedir } from "node:os";
import { resolve } from "node:path";
import { type Clock, err, ok, type Result, systemClock } from "../lib/index.ts";
import { Catalog, type CatalogContents } from "./catalog/catalog.ts";
import { lookUp, pathOf } from "./catalog/lookup.ts";
import { type HiddenReason, hiddenReason, type Surroundings } from "./catalog/visibility.ts";
import { shownName } from "./names.ts";
import { skillsDirectory, snapshotPath } from "./paths.ts";
import { detectEnvironments, type Environment } from "./surroundings.ts";
import type { Skill, SkillError } from "./types.ts";

export type SkillStoreOptions = {
  readonly home: string;
  /** Config `skills.external_dirs`. */
  readonly externalDirs?: readonly string[];
  /** Config `skills.disabled`. */
  readonly disabled?: readonly string[];
  /** Config `skills.platform_disabled`. */
  readonly platformDisabled?: Readonly<Record<string, readonly string[]>>;
  /** Where the conversation takes place: `cli`, `telegram`, ... */
  readonly platform?: string;
  /** Config `skills.template_vars`; default true. */
  readonly templateVars?: boolean;
  /** Config `skills.allow_secrets`: texts that look like credentials may be written; default false. */
  readonly allowSecrets?: boolean;
  /** For variables in paths, and for what skills need; default the process's own. */
  readonly env?: Environment;
  /** As `process.platform` has it. */
  readonly system?: string;
  readonly environments?: readonly string[];
  /** Longest wait for another process that changes skills; default 10 seconds. */
  readonly lockTimeoutMs?: number;
  readonly clock?: Clock;
};

export class SkillStore {
  readonly home: string;
  /** The home's own skills; new ones go here. */
  readonly directory: string;
  readonly externalDirs: readonly string[];
  readonly templateVars: boolean;
  readonly allowSecrets: boolean;
  readonly env: Environment;
  readonly lockTimeoutMs: number;
  readonly clock: Clock;
  /** Read by the rest of this room. */
  readonly catalog: Catalog;
  readonly #surroundings: Surroundings;

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
    this.catalog = new Catalog({
      roots: [this.directory, ...this.externalDirs],
      snapshot: snapshotPath(this.home),
    });
    const forPlatform =
      platform !== undefined && Object.hasOwn(platformDisabled, platform) ? platformDisabled[platform] : [];
    this.#surroundings = {
      disabled: new Set([...(options.disabled ?? []), ...(forPlatform ?? [])]),
      system: options.system ?? process.platform,
      environments: options.environments ? new Set(options.environments) : detectEnvironments(env),
    };
  }

  /** Every skill, hidden ones included, as they are now. */
  contents(): Promise<CatalogContents> {
    return this.catalog.refresh();
  }

  /** Those an agent gets to see; of two with one name the first. */
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
    return hiddenReason(skill, this.#surroundings);
  }

  /** By path, directory, frontmatter name or flat file. Hidden ones are found too. */
  async find(asked: string): Promise<Result<Skill, SkillError>> {
    const known = findIn(await this.catalog.current(), asked);
    if (known.ok && this.catalog.isCurrent(known.value)) return known;
    if (!known.ok && known.error.kind === "ambiguous") return known;
    return findIn(await this.catalog.refresh(), asked);
  }
}

export function findIn(contents: CatalogContents, asked: string): Result<Skill, SkillError> {
  const found = lookUp(contents.skills, contents.flatSkills, asked);
  if (found.kind === "one") return ok(found.skill);
  const shown = shownName(asked);
  if (found.kind === "many") {
    const matches = found.skills.map((skill) => (skill.isExternal ? skill.directory : pathOf(skill)));
    const message = `'${shown}' fits ${found.skills.length} skills. Give the path of the one you mean.`;
    return err({ kind: "ambiguous", message, details: { matches } });
  }
  return err({
    kind: "not_found",
    message: `There is no skill '${shown}'.`,
  });
}

/** `~`, `$NAME` and `${NAME}` as a shell has them; what is left relative counts from the home. */
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
