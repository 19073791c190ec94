// What is stored already and would be refused at a write today: credentials, and text in disguise. Findings name the place and
// what it looks like, never what is written there.
import { loadConfig } from "../../config/index.ts";
import { type MemoryTarget, scanOptions } from "../../curated/index.ts";
import { type GateFinding, secondGate } from "../../security/index.ts";
import { findingsInSkills, SkillStore, type StoredFinding, skillOptionsFrom } from "../../skills/index.ts";
import { counted } from "../printing.ts";
import { type Finding, fine, warn } from "./finding.ts";
import type { TargetLook } from "./look.ts";
import type { Patient } from "./run.ts";

/** `isBlocked`: the prompt shows a placeholder for the entry, and another finding says so. */
export function storedInMemory(
  { name, target, entries }: Pick<TargetLook, "name" | "target" | "entries">,
  { scanAllow, allowSecrets }: Patient["config"],
  isBlocked: (index: number) => boolean,
): Finding[] {
  return entries.flatMap((entry, index) => {
    if (isBlocked(index)) return [];
    const found = secondGate(entry, scanOptions(scanAllow, allowSecrets));
    if (found.length === 0) return [];
    const message = `${name}: entry ${index + 1} ${looks(found)}. Prompts show it.`;
    return [warn(checkOf(found), message, remedyInMemory(target, found))];
  });
}

const MOST_LISTED = 20;

export async function checkSkills({ home, env }: Patient): Promise<Finding[]> {
  const config = await loadConfig(home);
  const settings = config.ok ? skillOptionsFrom(config.value.skills) : {}; // the settings check tells about a bad config
  const { files, findings } = findingsInSkills(new SkillStore({ home, env, ...settings }));
  if (files === 0) return [];
  if (findings.length === 0)
    return [fine("skills", `${counted(files, "skill file")} without credentials or hidden text.`)];
  const listed = findings.slice(0, MOST_LISTED).map(aboutSkill);
  const more = findings.length - listed.length;
  return more === 0
    ? listed
    : [...listed, warn("skills", `${more} more of these in skills.`, "Mend those above, then look again.")];
}

function aboutSkill({ path, line, kind, label, id }: StoredFinding): Finding {
  const message = `${path} line ${line} ${looks([{ kind, label, id }])}.`;
  const remedy =
    kind === "secret"
      ? "Write where the value is kept instead of the value, and replace the credential if others may have read it."
      : "Open the file in an editor that shows invisible characters, and remove them.";
  return warn("skills", message, remedy);
}

type Looks = Pick<GateFinding, "kind" | "label" | "id">;

function looks(found: readonly Looks[]): string {
  const isSecret = found.every(({ kind }) => kind === "secret");
  const labels = [...new Set(found.map(({ label }) => label))].join(", ");
  return `${isSecret ? "looks like it holds" : "holds"} ${labels} (${[...new Set(found.map(({ id }) => id))].join(", ")})`;
}

function checkOf(found: readonly Looks[]): string {
  return found.every(({ kind }) => kind === "secret") ? "secret" : "disguised";
}

function remedyInMemory(target: MemoryTarget, found: readonly Looks[]): string {
  const look = `Read it with 'hermes memory show --target ${target}'`;
  return checkOf(found) === "secret"
    ? `${look}, replace it by where the value is kept, and erase the old text with 'hermes memory forget -'.`
    : `${look}, then reword or remove it.`;
}
