// The records beside the memory files: journals, archives and pins.
import {
  Journal,
  MEMORY_TARGETS,
  type MemoryTarget,
  pinsPath,
  readPins,
  targetPaths,
} from "@hermes-memory/core/curated";
import { memoriesDirectory } from "@hermes-memory/core/home";
import { describeCause, errnoCode, readJsonLines } from "@hermes-memory/core/lib";
import { inspectTarget, statOf } from "../inspect-files.ts";
import { counted } from "../printing.ts";
import { bytes, type Finding, fail, fine, guarded, quoted, warn } from "./finding.ts";
import type { Patient } from "./patient.ts";

export async function checkJournals(patient: Patient): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const target of MEMORY_TARGETS) {
    findings.push(...(await guarded("journal", () => journalOf(patient, target))));
    findings.push(...(await guarded("archive", () => archiveOf(patient, target))));
  }
  return findings;
}

function journalOf({ home, config }: Patient, target: MemoryTarget): Finding[] {
  const directory = memoriesDirectory(home);
  const { journal: path } = targetPaths(directory, target);
  const size = statOf(path)?.size;
  if (size === undefined) return [];
  const journal = new Journal(path, { maxBytes: config.historyMaxBytes, keepChanges: config.historyKeep });
  const { damaged } = journal.read();
  const { changes, refusals } = journal.replay(inspectTarget(directory, target, config).hash);
  const aborted = changes.filter(({ status }) => status === "aborted").length;
  // A line without its change is what a killed process leaves; replaying passes it over, so it is told, not complained about.
  const told = [
    counted(changes.length, "change"),
    ...(aborted > 0 ? [`${aborted} of them cut off by a crash and without effect`] : []),
    ...(refusals.length > 0 ? [counted(refusals.length, "refusal")] : []),
    bytes(size),
  ];
  const findings = [fine("journal", `Journal of '${target}': ${told.join(", ")}.`)];
  if (damaged > 0) {
    const message = `Journal of '${target}': ${counted(damaged, "line")} cannot be read and ${damaged === 1 ? "is" : "are"} passed over.`;
    const remedy = `Changes in such lines cannot be undone or explained; the rest works. Look at ${quoted(path)}.`;
    findings.push(warn("journal", message, remedy));
  }
  // Compaction runs after a change and leaves what has to stay undoable; twice the cap means that it does not keep up.
  if (size > 2 * config.historyMaxBytes) {
    const message = `Journal of '${target}': ${bytes(size)}, more than twice memory.history_max_bytes.`;
    findings.push(warn("journal", message, "Lower memory.history_keep, or raise memory.history_max_bytes."));
  }
  return findings;
}

function archiveOf({ home }: Patient, target: MemoryTarget): Finding[] {
  const { archive: path } = targetPaths(memoriesDirectory(home), target);
  const { damaged } = readJsonLines(path);
  if (damaged === 0) return [];
  const message = `Archive of '${target}': ${counted(damaged, "line")} cannot be read; what they held cannot be restored.`;
  return [warn("archive", message, `Mend or remove the damaged lines of ${quoted(path)}.`)];
}

export function checkPins({ home }: Patient): Finding[] {
  const path = pinsPath(memoriesDirectory(home));
  if (statOf(path) === undefined) return [];
  try {
    const pins = readPins(path);
    const pinned = MEMORY_TARGETS.reduce((sum, target) => sum + pins[target].size, 0);
    return [fine("pins", `The pin file is readable (${counted(pinned, "pin")}).`)];
  } catch (cause) {
    const remedy = "Mend the JSON, or delete the file to unpin everything.";
    const reason = errnoCode(cause) === undefined ? "it is damaged" : describeCause(cause);
    return [fail("pins", `${path} cannot be used: ${reason}.`, remedy)];
  }
}
