// Stored text that a write would be refused for today: credentials and disguised text. A finding names the place and the kind of
// text, never the text.
import { type MemoryTarget, scanOptions, targetPaths } from "@hermes-memory/core/internal/curated";
import { readJsonLines } from "@hermes-memory/core/internal/lib";
import { ConfigFailure } from "@hermes-memory/core/internal/memory";
import { type GateFinding, secondGate } from "@hermes-memory/core/internal/security";
import { findingsInSkills, SkillStore, type StoredFinding } from "@hermes-memory/core/internal/skills";
import { listStaged } from "@hermes-memory/core/internal/staged";
import type { TargetFile } from "../inspect-files.ts";
import { counted } from "../printing.ts";
import { type CheckedHome, type Finding, fine, warn } from "./finding.ts";

/** `isBlocked`: the prompt shows a placeholder for the entry, which another finding reports. */
export function storedInMemory(
  { name, target, entries }: Pick<TargetFile, "name" | "target" | "entries">,
  { scanAllow, allowSecrets }: CheckedHome["config"],
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

/** Archived entries. Lines of restored entries are still in the file. */
export function storedInArchive(
  directory: string,
  { name, target }: Pick<TargetFile, "name" | "target">,
  { scanAllow, allowSecrets }: CheckedHome["config"],
): Finding[] {
  const path = targetPaths(directory, target).archive;
  const findings = readJsonLines(path).values.flatMap((line, index): Finding[] => {
    const found = secondGate(textOf(line), scanOptions(scanAllow, allowSecrets));
    if (found.length === 0) return [];
    const message = `The archive of ${name}: line ${index + 1} of ${path} ${looks(found)}.`;
    return [warn(checkOf(found), message, "Erase the text everywhere with 'hermes memory forget -'.")];
  });
  return atMost(findings, "secret", "the archive");
}

function textOf(line: unknown): string {
  const text = typeof line === "object" && line !== null && "text" in line ? line.text : "";
  return typeof text === "string" ? text : "";
}

/** Staged writes of memory and skills: approving them is refused, but their text is on disk. */
export function storedInPending({
  home,
  memory: opened,
  config,
}: Pick<CheckedHome, "home" | "memory" | "config">): Finding[] {
  const { records } = listStaged({ home, pendingDirectory: opened.administrator.pendingDirectory });
  const options = scanOptions(config.scanAllow, config.allowSecrets);
  const findings = records.flatMap(({ id, subsystem, summary, payload }): Finding[] => {
    const found = [summary, ...textsIn(payload)].flatMap((text) => secondGate(text, options));
    if (found.length === 0) return [];
    const remedy = `Reject it with 'hermes ${subsystem} reject ${id}'.`;
    return [warn(checkOf(found), `The staged ${subsystem} write ${id} ${looks(found)}.`, remedy)];
  });
  return atMost(findings, "secret", "staged writes");
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function atMost(findings: readonly Finding[], check: string, where: string): Finding[] {
  const more = findings.length - MOST_LISTED;
  if (more <= 0) return [...findings];
  const rest = warn(
    check,
    `${more} more of these in ${where}.`,
    "Correct those above, then run 'hermes doctor' again.",
  );
  return [...findings.slice(0, MOST_LISTED), rest];
}

const MOST_LISTED = 20;

export async function checkSkills({ home, env, memory }: CheckedHome): Promise<Finding[]> {
  const store = await memory.administrator.skills().catch((cause: unknown) => {
    if (cause instanceof ConfigFailure) return new SkillStore({ home, env }); // checkSettings reports a broken config.yaml
    throw cause;
  });
  const { files, findings } = findingsInSkills(store);
  if (files === 0) return [];
  if (findings.length === 0)
    return [fine("skills", `${counted(files, "skill file")} without credentials or hidden text.`)];
  return atMost(findings.map(aboutSkill), "skills", "skills");
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
