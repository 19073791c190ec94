import { dirname, relative } from "node:path";
import {
  findingIds,
  type GateFinding,
  gateMessage,
  SECRET_THREAT_IDS,
  scanThreats,
  secondGate,
} from "../security/index.ts";
import { lookAt } from "./catalog.ts";
import type { SkillError, SkillOrigin } from "./skill.ts";
import { allLinkedFiles, readSkillFile } from "./skill-files.ts";
import type { SkillStore } from "./store.ts";

// ----
// The scan of what is written into a skill: a later agent will read it as instructions.

/**
 * Why the text may not be stored, or nothing. Never quotes it. A person's own text is not scanned for threat patterns, but the second
 * gate looks at it too: nobody sees tag characters, and few mean to store a key. `before` is the file's text up to now: a credential
 * that it has already does not keep the rest of it from being improved; `hermes doctor` lists it.
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

// ----
// What the second gate would refuse in skills that are there already: written by hand, by another program, or before there was a gate.
// Only looks; nothing is hidden or changed.

export type StoredFinding = Pick<GateFinding, "id" | "kind" | "label"> & {
  /** Absolute. */
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
};

type StoredFindings = {
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
