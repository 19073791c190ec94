// What the second gate would refuse in skills that are there already: written by hand, by another program, or before there was a gate.
// Only looks; nothing is hidden or changed.
import { dirname, relative } from "node:path";
import { type GateFinding, secondGate } from "../security/index.ts";
import { lookAt } from "./catalog/walk.ts";
import type { SkillStore } from "./store.ts";
import { allLinkedFiles, readSkillFile } from "./view/files.ts";

export type StoredFinding = Pick<GateFinding, "id" | "kind" | "label"> & {
  /** Absolute. */
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
};

export type StoredFindings = {
  readonly files: number;
  /** Too large, not text, or not readable. */
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
  for (const { path, kind } of lookAt([directory, ...externalDirs]).files) {
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
