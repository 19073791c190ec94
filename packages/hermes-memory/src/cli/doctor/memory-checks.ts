// Checks of the memory directory: the two files, their journals, archives, pins and locks, and staged or unfinished writes.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  buildSnapshot,
  type Drift,
  explainGap,
  formatFraction,
  Journal,
  listTemps,
  locate,
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
  isRecord,
  mutexPath,
  randomHex,
  readJsonLines,
  resolveLinks,
  tryWithFileLocks,
} from "@hermes-memory/core/internal/lib";
import { ConfigFailure } from "@hermes-memory/core/internal/memory";
import { type GateFinding, secondGate } from "@hermes-memory/core/internal/security";
import { findingsInSkills, SkillStore, type StoredFinding } from "@hermes-memory/core/internal/skills";
import { listStaged } from "@hermes-memory/core/internal/staged";
import { inspectTarget, isDirectory, statOf, type TargetFile } from "../inspect-files.ts";
import { counted, sizeText } from "../printing.ts";
import { type CheckedHome, type Finding, fail, fine, guarded, quoted, warn } from "./finding.ts";

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
  return locate(file)
    .locks.filter((path) => existsSync(path))
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
  const halves = (isDirectory(profiles) ? readdirSync(profiles) : []).filter((name) =>
    name.startsWith(".creating-"),
  );
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

// Stored text that a write would be refused for today: credentials and disguised text. A finding names the place and the kind of
// text, never the text.

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
    const found = secondGate(isRecord(line) ? String(line.text) : "", scanOptions(scanAllow, allowSecrets));
    if (found.length === 0) return [];
    const message = `The archive of ${name}: line ${index + 1} of ${path} ${looks(found)}.`;
    return [warn(checkOf(found), message, "Erase the text everywhere with 'hermes memory forget -'.")];
  });
  return atMost(findings, "secret", "the archive");
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
