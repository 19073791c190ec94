// Work that waits, and what a killed process left lying about.
import { dirname, join } from "node:path";
import {
  listTemps,
  lookAtPending,
  MEMORY_TARGETS,
  STALE_AFTER_MS,
  staleClaims,
  targetPaths,
} from "@hermes-memory/core/curated";
import { memoriesDirectory, pendingWritesDirectory } from "@hermes-memory/core/home";
import { resolveLinks } from "@hermes-memory/core/lib";
import { namesIn, statOf } from "../inspect-files.ts";
import { counted } from "../printing.ts";
import { type Finding, fine, warn } from "./finding.ts";
import type { Patient } from "./patient.ts";
import { storedInPending } from "./second-gate.ts";

export function checkPending({ home, memory, config }: Patient): Finding[] {
  const directory = memory.owner.pendingDirectory;
  const { records, skipped } = lookAtPending(directory);
  const stale = staleClaims(directory);
  const findings = [
    fine(
      "pending",
      `${counted(records.length, "write waits", "writes wait").replace(/^0/, "No")} for approval.`,
    ),
  ];
  if (skipped.length > 0) {
    const told = `${counted(skipped.length, "file")} without a usable write in ${directory}: ${shortList(skipped)}.`;
    findings.push(warn("pending", told, "Look at them and delete them; nothing will read them."));
  }
  if (stale.length > 0) {
    const told = `${counted(stale.length, "write")} held by an approver that is gone: ${shortList(stale)}.`;
    findings.push(warn("pending", told, "'hermes memory pending' gives back what was held."));
  }
  return [...findings, ...storedInPending({ home, memory, config })];
}

export function checkTemps({ home, root }: Patient): Finding[] {
  const places = writtenPlaces(home);
  const pending = pendingWritesDirectory(home);
  const files = [...places.flatMap((place) => listTemps(place, ".")), ...listTemps(pending, "")];
  const profiles = join(root, "profiles");
  const halves = namesIn(profiles).filter((name) => name.startsWith(".creating-"));
  const stale = [...files, ...halves.map((name) => join(profiles, name))].filter(isStale);
  const rescued = places.flatMap((place) => listTemps(place, ".", ".rescue"));
  const findings = rescued.map((path) => {
    const remedy =
      "Compare it with the file it belongs to, copy it over if it is the better one, then delete it.";
    return warn("rescue", `A write in place broke off; ${path} has its whole content.`, remedy);
  });
  if (stale.length === 0) return [...findings, fine("temp-files", "No leftover temporary files.")];
  const message = `${counted(stale.length, "leftover")} of a process that was killed: ${shortList(stale)}.`;
  return [...findings, warn("temp-files", message, "Delete them when no other process is at work.")];
}

/** Where files are replaced. A write goes to where a link leads, and so does its temporary file. */
function writtenPlaces(home: string): string[] {
  const memories = memoriesDirectory(home);
  const linked = MEMORY_TARGETS.map((target) => dirname(resolveLinks(targetPaths(memories, target).file)));
  return [...new Set([home, memories, ...linked, join(memories, ".history"), join(memories, ".archive")])];
}

function isStale(path: string): boolean {
  const stats = statOf(path);
  return stats !== undefined && Date.now() - stats.mtimeMs > STALE_AFTER_MS;
}

function shortList(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(", ");
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}
