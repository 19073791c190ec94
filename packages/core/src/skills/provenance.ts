// Where a skill comes from (shipped with the program, installed from the hub, external, or made here) and who may change it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errnoCode, isRecord } from "../lib/index.ts";
import { fieldOf } from "./frontmatter.ts";
import type { Skill, SkillAction, SkillError, SkillOrigin } from "./skill.ts";
import type { SkillStore } from "./store.ts";

export type Provenance = "bundled" | "hub" | "external" | "agent";

type Origins = {
  readonly bundled: ReadonlySet<string>;
  readonly hub: ReadonlySet<string>;
  /** False when a list exists but cannot be parsed: then it is not known which skills are shipped or from the hub. */
  readonly isReliable: boolean;
};

export function readOrigins({ directory }: SkillStore): Origins {
  const manifest = readText(join(directory, ".bundled_manifest"));
  const lock = readText(join(directory, ".hub", "lock.json"));
  const hub = lock === undefined ? undefined : hubNames(lock);
  return {
    bundled: new Set(manifest === undefined ? [] : bundledNames(manifest)),
    hub: new Set(hub ?? []),
    isReliable: manifest !== undefined && hub !== undefined,
  };
}

export function provenanceOf(skill: Skill, origins: Origins): Provenance {
  const isIn = (names: ReadonlySet<string>): boolean =>
    names.has(skill.directoryName) || names.has(skill.name);
  if (skill.isExternal) return "external";
  if (isIn(origins.hub)) return "hub";
  return isIn(origins.bundled) ? "bundled" : "agent";
}

/** Lines `name:hash`. */
function bundledNames(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => (line.split(":")[0] ?? "").trim())
    .filter((name) => name !== "");
}

/** Undefined when it cannot be parsed. */
function hubNames(text: string): string[] | undefined {
  if (text.trim() === "") return [];
  try {
    const content: unknown = JSON.parse(text);
    const installed = fieldOf(content, "installed") ?? content;
    if (Array.isArray(installed)) return installed.flatMap((each) => namesOf("", each));
    return isRecord(installed)
      ? Object.entries(installed).flatMap(([name, entry]) => namesOf(name, entry))
      : undefined;
  } catch {
    return undefined;
  }
}

/** The key of an entry, its name, and the folder it was installed into. */
function namesOf(key: string, entry: unknown): string[] {
  const path = fieldOf(entry, "install_path");
  const folder = typeof path === "string" ? path.split(/[/\\]/).findLast((part) => part !== "") : undefined;
  return [key, fieldOf(entry, "name"), folder].filter(
    (name): name is string => typeof name === "string" && name !== "",
  );
}

/** "" for a missing file, undefined for an unreadable one. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    return errnoCode(cause) === "ENOENT" || errnoCode(cause) === "ENOTDIR" ? "" : undefined;
  }
}

// The rules. They are enforced here, not only stated in a prompt. Pure.

type SkillStanding = {
  readonly name: string;
  readonly provenance: Provenance;
  /** False: the lists of bundled and hub skills cannot be read. */
  readonly isProvenanceKnown: boolean;
  readonly isPinned: boolean;
};

/** The reason why the action is refused; undefined when it is allowed. */
export function refusalOf(
  action: SkillAction,
  origin: SkillOrigin,
  skill: SkillStanding,
): SkillError | undefined {
  const { name, provenance, isPinned } = skill;
  const isUnattended = origin === "review" || origin === "curator";
  if (isUnattended && !skill.isProvenanceKnown) {
    const message = `The lists of bundled and hub skills cannot be read, so '${name}' may be one of them. It was left alone.`;
    return { kind: "protected", message };
  }
  if (isUnattended && provenance !== "agent") {
    const message = `The skill '${name}' is ${WORDS[provenance]} and is not changed without a person. Write a skill of your own instead.`;
    return { kind: "protected", message };
  }
  if (action === "delete" && provenance === "external") {
    const message = `The skill '${name}' is in a directory outside of the home. Delete it there by hand.`;
    return { kind: "protected", message };
  }
  if (isPinned && (action === "delete" || action === "remove_file")) {
    const message = `The skill '${name}' is pinned: it may be improved, but neither it nor its files are deleted. A person can unpin it.`;
    return { kind: "protected", message };
  }
  return undefined;
}

const WORDS: Readonly<Record<Exclude<Provenance, "agent">, string>> = {
  bundled: "shipped with the program",
  hub: "installed from the hub",
  external: "in a directory outside of the home",
};
