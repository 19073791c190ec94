// Who may change which skill. A rule that only a prompt states is none. Pure.
import type { Provenance } from "../provenance.ts";
import type { SkillAction, SkillError, SkillOrigin } from "../types.ts";

export type Standing = {
  readonly name: string;
  readonly provenance: Provenance;
  /** False: the lists of bundled and hub skills cannot be read. */
  readonly isProvenanceKnown: boolean;
  readonly isPinned: boolean;
};

/** Why this may not be done, or nothing. */
export function refusalOf(action: SkillAction, origin: SkillOrigin, skill: Standing): SkillError | undefined {
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
