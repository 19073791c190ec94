// The memory files: readable, in their format, within their budget, free of what the scanner keeps out of prompts.
import { basename, join } from "node:path";
import {
  buildSnapshot,
  type Drift,
  formatFraction,
  listBackups,
  MEMORY_TARGETS,
  scanOptions,
  targetPaths,
  usageWarning,
} from "@hermes-memory/core/curated";
import { memoriesDirectory, usersDirectory } from "@hermes-memory/core/home";
import { groupThousands } from "@hermes-memory/core/lib";
import { inspectTarget, type TargetFile } from "../inspect-files.ts";
import { counted } from "../printing.ts";
import { type Finding, fail, fine, warn } from "./finding.ts";
import type { Patient } from "./patient.ts";
import { storedInArchive, storedInMemory } from "./second-gate.ts";

export function checkMemoryFiles({ home, config }: Patient): Finding[] {
  return findingsIn(memoriesDirectory(home), config);
}

/** Users of a gateway have files of their own. Only what is wrong with them is worth a line each. */
export function checkUserScopes({ home, memory, config }: Patient): Finding[] {
  const users = usersDirectory(home);
  const scopes = memory.everyone().userDirectories();
  if (scopes.length === 0) return [];
  const wrong = scopes.flatMap((scope) =>
    findingsIn(join(users, scope), config)
      .filter(({ status }) => status !== "ok")
      .map((finding) => ({ ...finding, message: `users/${scope}: ${finding.message}` })),
  );
  return [
    fine("user-scopes", `${counted(scopes.length, "user has", "users have")} memory of their own.`),
    ...wrong,
  ];
}

/** Copies of files that a write refused to touch. */
export function checkBackups({ home }: Patient): Finding[] {
  const newestFirst = MEMORY_TARGETS.map((target) => targetPaths(memoriesDirectory(home), target).file)
    .flatMap((file) => listBackups(file).map((path) => ({ path, at: secondsOf(path) })))
    .sort((a, b) => b.at - a.at);
  const [newest] = newestFirst;
  if (newest === undefined)
    return [fine("backups", "No backups: no write was ever refused because of drift.")];
  const taken = new Date(newest.at * 1000);
  const when = Number.isNaN(taken.getTime()) ? "" : `, taken ${taken.toISOString()}`;
  return [
    fine("backups", `${counted(newestFirst.length, "backup")}; newest ${basename(newest.path)}${when}.`),
  ];
}

function findingsIn(directory: string, config: Patient["config"]): Finding[] {
  return MEMORY_TARGETS.flatMap((target) => {
    const isOn = target === "user" ? config.userProfileEnabled : config.memoryEnabled;
    const look = inspectTarget(directory, target, config);
    return [...findingsOf(look, config, isOn), ...storedInArchive(directory, look, config)];
  });
}

function findingsOf(look: TargetFile, config: Patient["config"], isOn: boolean): Finding[] {
  const { target, name, path, trouble, entries, used, limit, drift } = look;
  if (trouble !== undefined) {
    const message = `${name} cannot be read (${trouble}). Memory works without it and will not write it.`;
    return [fail("memory-file", message, `Mend or move ${path}; a backup may lie beside it.`)];
  }
  const budget = { used, limit };
  const state = isOn ? "" : " (switched off in config.yaml)";
  const size = look.exists
    ? `${counted(entries.length, "entry", "entries")}, ${formatFraction(budget)} chars`
    : "not there yet";
  const findings = [fine("memory-file", `${name}: ${size}${state}`)];
  if (drift !== undefined)
    findings.push(fail("drift", `${name}: ${describeDrift(drift)}`, driftRemedy(path)));
  const fullness = usageWarning(budget);
  if (fullness !== undefined) {
    const remedy = "hermes memory show, then replace or remove; or raise the limit in config.yaml.";
    findings.push(warn("usage", `${name}: ${fullness.split(". ")[0]}.`, remedy));
  }
  const scan = scanOptions(config.scanAllow, config.allowSecrets);
  const { blocked } = buildSnapshot(target, entries, limit, scan);
  for (const { index, ids } of blocked) {
    const message = `${name}: entry ${index + 1} is kept out of prompts (${ids.join(", ")}).`;
    const remedy = `Read it with 'hermes memory show --target ${target}', then reword or remove it.`;
    findings.push(warn("blocked", message, remedy));
  }
  const isBlocked = (index: number): boolean => blocked.some((each) => each.index === index);
  return [...findings, ...storedInMemory(look, config, isBlocked)];
}

function describeDrift(drift: Drift): string {
  switch (drift.kind) {
    case "oversized":
      return `one entry has ${groupThousands(drift.chars)} chars, more than the whole file may have (${groupThousands(drift.limit)}). Writes are refused.`;
    case "unparsed_append":
      return "something appended text without knowing the format. Writes are refused.";
    default:
      return drift satisfies never;
  }
}

function driftRemedy(path: string): string {
  return `Edit ${path}: entries are separated by a line that holds only '§'.`;
}

function secondsOf(backup: string): number {
  return Number(backup.slice(backup.lastIndexOf(".") + 1));
}
