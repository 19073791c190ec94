// Checks of the memory directory: the two files, their journals, archives, pins and locks, and staged or unfinished writes.
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  buildSnapshot,
  type Drift,
  explainGap,
  formatFraction,
  Journal,
  listTemps,
  lockPaths,
  MEMORY_TARGETS,
  type MemoryTarget,
  pinsPath,
  readPendingWrites,
  readPins,
  STALE_AFTER_MS,
  scanOptions,
  targetPaths,
  usageWarning,
} from "@hermes-memory/core/internal/curated";
import { memoriesDirectory, pendingWritesDirectory, usersDirectory } from "@hermes-memory/core/internal/home";
import {
  describeCause,
  errnoCode,
  groupThousands,
  mutexPath,
  randomHex,
  readJsonLines,
  resolveLinks,
  tryWithFileLocks,
} from "@hermes-memory/core/internal/lib";
import { inspectTarget, isDirectory, namesIn, statOf, type TargetFile } from "../inspect-files.ts";
import { counted, sizeText } from "../printing.ts";
import { type CheckedHome, type Finding, fail, fine, guarded, quoted, warn } from "./finding.ts";
import { storedInArchive, storedInMemory, storedInPending } from "./stored-secrets.ts";

// MEMORY.md and USER.md

export function checkMemoryFiles({ home, config }: CheckedHome): Finding[] {
  return findingsIn(memoriesDirectory(home), config);
}

/** The files of a gateway's users. Only problems get a line each. */
export function checkUserScopes({ home, memory, config }: CheckedHome): Finding[] {
  const users = usersDirectory(home);
  const scopes = memory.administrator.userDirectories();
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

function findingsIn(directory: string, config: CheckedHome["config"]): Finding[] {
  return MEMORY_TARGETS.flatMap((target) => {
    const isOn = target === "user" ? config.userProfileEnabled : config.memoryEnabled;
    const look = inspectTarget(directory, target, config);
    return [...findingsOf(look, config, isOn), ...storedInArchive(directory, look, config)];
  });
}

function findingsOf(look: TargetFile, config: CheckedHome["config"], isOn: boolean): Finding[] {
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

// Journals, archives and pins

export async function checkJournals(checked: CheckedHome): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const target of MEMORY_TARGETS) {
    findings.push(...(await guarded("journal", () => journalOf(checked, target))));
    findings.push(...(await guarded("archive", () => archiveOf(checked, target))));
  }
  return findings;
}

function journalOf({ home, config }: CheckedHome, target: MemoryTarget): Finding[] {
  const directory = memoriesDirectory(home);
  const { journal: path } = targetPaths(directory, target);
  const size = statOf(path)?.size;
  if (size === undefined) return [];
  const journal = new Journal(path, { maxBytes: config.historyMaxBytes, keepChanges: config.historyKeep });
  const { damaged } = journal.read();
  const { changes, refusals } = journal.replay(inspectTarget(directory, target, config).hash);
  const aborted = changes.filter(({ status }) => status === "aborted").length;
  // A killed process leaves a journal line without its change. Replay skips it, so it is mentioned but is no warning.
  const text = [
    counted(changes.length, "change"),
    ...(aborted > 0 ? [`${aborted} of them cut off by a crash and without effect`] : []),
    ...(refusals.length > 0 ? [counted(refusals.length, "refusal")] : []),
    sizeText(size),
  ];
  const findings = [fine("journal", `Journal of '${target}': ${text.join(", ")}.`)];
  if (damaged > 0) {
    const message = `Journal of '${target}': ${counted(damaged, "line")} cannot be read and ${damaged === 1 ? "is" : "are"} passed over.`;
    const remedy = `Changes in such lines cannot be undone or explained; the rest works. Look at ${quoted(path)}.`;
    findings.push(warn("journal", message, remedy));
  }
  // Compaction runs after a change and keeps what must stay undoable; more than twice the cap means that it does not keep up.
  if (size > 2 * config.historyMaxBytes) {
    const message = `Journal of '${target}': ${sizeText(size)}, more than twice memory.history_max_bytes.`;
    findings.push(warn("journal", message, "Lower memory.history_keep, or raise memory.history_max_bytes."));
  }
  return findings;
}

function archiveOf({ home }: CheckedHome, target: MemoryTarget): Finding[] {
  const { archive: path } = targetPaths(memoriesDirectory(home), target);
  const { damaged } = readJsonLines(path);
  if (damaged === 0) return [];
  const message = `Archive of '${target}': ${counted(damaged, "line")} cannot be read; what they held cannot be restored.`;
  return [warn("archive", message, `Mend or remove the damaged lines of ${quoted(path)}.`)];
}

export function checkPins({ home }: CheckedHome): Finding[] {
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

// File locks

export function checkLocks({ home }: CheckedHome): Finding[] {
  const memories = memoriesDirectory(home);
  const directory = isDirectory(memories) ? memories : home;
  return [probe(directory), ...MEMORY_TARGETS.flatMap((target) => held(targetPaths(memories, target).file))];
}

/** Takes a lock twice. File locks work in this directory only if the second attempt is refused. */
function probe(directory: string): Finding {
  const path = join(directory, `.doctor-${randomHex(6)}.lock`);
  try {
    const second = tryWithFileLocks([path], (gap) => ({
      gap,
      isRefused: !tryWithFileLocks([path], () => undefined).ok,
    }));
    const { gap, isRefused } = second.ok ? second.value : { gap: undefined, isRefused: false };
    if (gap) {
      const { message, remedy } = explainGap(gap);
      return warn("locks", `${directory}: ${message}`, remedy);
    }
    if (isRefused) return fine("locks", `File locks work in ${directory}.`);
    const remedy = "Let one process at a time write, or move the home to a local file system.";
    return warn(
      "locks",
      `File locks do not work in ${directory} (a second lock was granted); writes go without them.`,
      remedy,
    );
  } catch (cause) {
    const remedy = "Check that your user can create files there.";
    return fail("locks", `No lock file can be made in ${directory}: ${describeCause(cause)}.`, remedy);
  } finally {
    for (const each of [path, mutexPath(path)]) rmSync(each, { force: true });
  }
}

/** Opening a lock file makes it, so only existing ones are tried. */
function held(file: string): Finding[] {
  return lockPaths(file)
    .filter((path) => existsSync(path))
    .flatMap((path): Finding[] => {
      try {
        if (tryWithFileLocks([path], () => undefined).ok) return [];
        const remedy =
          "Usually over in a moment. If it stays, find the holder with 'fuser' or 'lsof' and end it.";
        return [warn("locks", `Another process holds ${path} right now.`, remedy)];
      } catch (cause) {
        const remedy = "Give the file to your user; every writer has to open it.";
        return [fail("locks", `${path} cannot be opened: ${describeCause(cause)}.`, remedy)];
      }
    });
}

// Staged writes, and files that a killed process left

export function checkPending({ home, memory, config }: CheckedHome): Finding[] {
  const directory = memory.administrator.pendingDirectory;
  const { records, skipped } = readPendingWrites(directory);
  const findings = [
    fine(
      "pending",
      `${counted(records.length, "write waits", "writes wait").replace(/^0/, "No")} for approval.`,
    ),
  ];
  if (skipped.length > 0) {
    const text = `${counted(skipped.length, "file")} without a usable write in ${directory}: ${shortList(skipped)}.`;
    findings.push(warn("pending", text, "Look at them and delete them; nothing will read them."));
  }
  return [...findings, ...storedInPending({ home, memory, config })];
}

export function checkTemps({ home, root }: CheckedHome): Finding[] {
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

/** Directories in which files are replaced. A write follows a link, and its temporary file is beside the real file. */
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
