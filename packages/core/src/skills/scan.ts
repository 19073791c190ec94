// Scans of skill texts: before a text is written, because agents will follow it as an instruction, and over all stored skills
// for `hermes doctor`.
import { dirname, relative } from "node:path";
import {
  findingIds,
  type GateFinding,
  gateMessage,
  SECRET_THREAT_IDS,
  scanThreats,
  secondGate,
} from "../security/index.ts";
import { walkRoots } from "./catalog.ts";
import type { SkillError, SkillOrigin } from "./skill.ts";
import { allLinkedFiles, readSkillFile } from "./skill-files.ts";
import type { SkillStore } from "./store.ts";

/**
 * The reason why the text is refused, without quoting it; undefined when it may be stored. Text typed by a user (`cli`) is not
 * scanned for threat patterns, but the second gate applies to it too: tag characters are invisible, and a key is usually stored
 * by mistake. `before` is the current text of the file: a credential it already contains does not block other improvements, and
 * `hermes doctor` lists it.
 */
export function screenProblem(
  text: string,
  { store, origin }: { readonly store: Pick<SkillStore, "allowSecrets">; readonly origin: SkillOrigin },
  before = "",
): SkillError | undefined {
  const { allowSecrets } = store;
  const allow = allowSecrets ? SECRET_THREAT_IDS : [];
  const ids = origin === "cli" ? [] : scanThreats(text, "strict", { allow }).map(({ id }) => id);
  if (ids.length > 0) {
    const message =
      `Blocked: the text matches ${ids.join(", ")}. A skill is followed as an instruction later, so it may not carry ` +
      "injection or exfiltration payloads. Nothing was changed. If it is harmless, reword it, or let a person write it.";
    return { kind: "blocked", message, details: { findings: ids } };
  }
  const isNews = ({ kind, start, end }: GateFinding): boolean =>
    kind === "disguised" || !before.includes(text.slice(start, end));
  const found = secondGate(text, { allowSecrets }).filter(isNews);
  if (found.length === 0) return undefined;
  const message = `${gateMessage(found)} Nothing was changed.`;
  return { kind: "blocked", message, details: { findings: findingIds(found) } };
}

// Finds what the second gate would refuse in stored skills: written by hand, by another program, or before the gate existed.
// Only reads.

export type StoredFinding = Pick<GateFinding, "id" | "kind" | "label"> & {
  /** Absolute. */
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
};

type StoredFindings = {
  readonly files: number;
  /** Files that are too large, not text, or not readable. */
  readonly unread: number;
  readonly findings: readonly StoredFinding[];
};

export function findingsInSkills({
  directory,
  externalDirs,
  allowSecrets,
}: Pick<SkillStore, "directory" | "externalDirs" | "allowSecrets">): StoredFindings {
  const findings: StoredFinding[] = [];
  let files = 0;
  let unread = 0;
  for (const { path, kind } of walkRoots([directory, ...externalDirs]).files) {
    const folder = dirname(path);
    const names = [relative(folder, path), ...(kind === "skill" ? allLinkedFiles(folder) : [])];
    for (const name of names) {
      const read = readSkillFile(folder, name);
      if (!read.ok || read.value.kind === "binary") {
        unread += 1;
        continue;
      }
      files += 1;
      const { text } = read.value;
      for (const { id, kind: what, label, start } of secondGate(text, { allowSecrets })) {
        const line = text.slice(0, start).split("\n").length;
        findings.push({ id, kind: what, label, path: `${folder}/${name}`, line });
      }
    }
  }
  return { files, unread, findings };
}
