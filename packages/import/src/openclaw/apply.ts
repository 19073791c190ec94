// Executes the operations of a plan, one after the other, and returns for each item what happened. Every step can be repeated: a run
// that was killed is continued by planning again, which finds what is already there.
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { dirname, join, parse, relative } from "node:path";
import { configPath, envFilePath, setConfigValue, setEnvValue } from "@hermes-memory/core/internal/config";
import { type MemoryOpOutcome, type MemoryStore, targetPaths } from "@hermes-memory/core/internal/curated";
import { describeCause, randomHex, withFileLocks, writeFileAtomic } from "@hermes-memory/core/internal/lib";
import { archiveDirectory, changeLockPath, skillsDirectory } from "@hermes-memory/core/internal/skills";
import type { Plan } from "./plan.ts";
import type { ImportSessions, Item, Operation } from "./plan-context.ts";

export type ApplyDeps = {
  /** Loaded. */
  readonly store: MemoryStore;
  readonly importSessions: ImportSessions;
  /** Called after each entry that was added. */
  readonly onAdded?: (outcome: MemoryOpOutcome) => void;
};

type To<Action extends Operation["action"]> = Extract<Operation, { readonly action: Action }>;
/** What the report says besides what the plan said. */
type Details = Readonly<Record<string, unknown>>;

const PRIVATE_FOLDER = { recursive: true, mode: 0o700 } as const;
const PRIVATE_FILE = { mode: 0o600 } as const;
const SKILL_LOCK_MS = 10_000;
/** Of `writeFileAtomic` and of `Backups`. */
const TEMP_NAME = /\.[0-9a-f]{8,12}\.tmp$/;

/** Items without an operation are returned as they are. */
export async function applyPlan(plan: Plan, deps: ApplyDeps): Promise<Item[]> {
  const results: Item[] = [];
  if (plan.isContinued) {
    removeTemps(plan);
    await deps.store.removeLeftovers();
  }
  const backups = new Backups(join(plan.output, "backups"));
  for (const { item, operation } of plan.items)
    results.push(operation === undefined ? item : await applyItem(item, operation, { plan, deps, backups }));
  return results;
}

/** Files that a killed run was writing. Other programs write config.yaml and .env too, so temporary files of those stay. */
function removeTemps({ output, request }: Plan): void {
  const isOurs = (name: string): boolean =>
    /^\.(?:SOUL|AGENTS|DESCRIPTION)\.md\./.test(name) && TEMP_NAME.test(name);
  const category = join(skillsDirectory(request.home), "openclaw-imports");
  for (const folder of [request.home, category, request.workspaceTarget ?? request.home])
    if (existsSync(folder))
      for (const name of readdirSync(folder)) if (isOurs(name)) rmSync(join(folder, name), { force: true });
  for (const entry of readdirSync(output, { recursive: true, withFileTypes: true }))
    if (TEMP_NAME.test(entry.name))
      rmSync(join(entry.parentPath, entry.name), { recursive: true, force: true });
}

type Applying = { readonly plan: Plan; readonly deps: ApplyDeps; readonly backups: Backups };

async function applyItem(item: Item, operation: Operation, applying: Applying): Promise<Item> {
  try {
    const details = await execute(operation, applying);
    const done = item.status === "migrated" ? "" : item.reason;
    return { ...item, reason: done, details: { ...item.details, ...details } };
  } catch (cause) {
    return { ...item, status: "error", reason: applying.plan.redactor.text(describeCause(cause)) };
  }
}

async function execute(operation: Operation, applying: Applying): Promise<Details> {
  const { plan, deps, backups } = applying;
  const { home } = plan.request;
  switch (operation.action) {
    case "write-file": {
      const { path, text, timesOf } = operation;
      const backup = backups.keep(path);
      mkdirSync(dirname(path), PRIVATE_FOLDER);
      writeFileAtomic(path, text);
      if (timesOf !== undefined) utimesSync(path, statSync(timesOf).atime, statSync(timesOf).mtime);
      return { backup };
    }
    case "add-entries":
      return await addEntries(operation, applying);
    case "copy-skill":
      return await copySkill(operation, applying);
    case "archive":
      for (const { name, content } of operation.files) {
        const to = join(plan.output, "archive", name);
        mkdirSync(dirname(to), PRIVATE_FOLDER);
        writeFileAtomic(to, content(), PRIVATE_FILE);
      }
      return {};
    case "set-env": {
      const path = envFilePath(home);
      const backup = backups.keep(path);
      for (const [name, value] of operation.values) {
        const changed = setEnvValue(path, name, value);
        if (!changed.ok) throw new Error(changed.error.message);
      }
      return { backup };
    }
    case "set-config": {
      const backup = backups.keep(configPath(home));
      for (const { key, value } of operation.changes) {
        const changed = await setConfigValue(home, key, JSON.stringify(value));
        if (!changed.ok) throw new Error(`${key}: ${changed.error.message}`);
      }
      return { backup };
    }
    case "import-sessions": {
      const outcome = await deps.importSessions(operation.paths, { isDryRun: false });
      if (!outcome.ok) throw new Error(outcome.error);
      return outcome.value;
    }
    default:
      return operation satisfies never;
  }
}

/** One change of the journal for each entry, so that each can be undone alone. */
async function addEntries(
  { target, entries, overflow, overflowFile }: To<"add-entries">,
  { deps, backups }: Applying,
): Promise<Details> {
  const { store } = deps;
  const meta = { origin: "migration", reason: "claw migrate" } as const;
  if (overflow.length > 0) {
    mkdirSync(dirname(overflowFile), PRIVATE_FOLDER);
    const lines = overflow.map((text) => `${text.replaceAll("\n", " ⏎ ")}\n`); // one entry per line
    writeFileAtomic(overflowFile, lines.join(""), PRIVATE_FILE);
  }
  const backup = entries.length > 0 ? backups.keep(targetPaths(store.dir, target).file) : null;
  let added = 0;
  for (const content of entries) {
    const outcome = await store.apply(target, { action: "add", content }, meta);
    if (!outcome.ok) throw new Error(outcome.error.message);
    added += outcome.value.changeId === undefined ? 0 : 1;
    deps.onAdded?.(outcome.value);
  }
  const kept = overflow.length === 0 ? undefined : await store.keepInArchive(target, overflow, meta);
  if (kept?.ok === false) throw new Error(kept.error.message);
  const usage = entries.length > 0 ? { final_char_count: store.usage(target).used } : {};
  return { backup, added_entries: added, ...usage };
}

/** Copies to a folder that no program searches for skills, and renames, so that a killed run leaves no half skill. */
async function copySkill(
  { to, files, bound }: To<"copy-skill">,
  { plan, backups }: Applying,
): Promise<Details> {
  const skills = skillsDirectory(plan.request.home);
  const waiting = archiveDirectory(skills);
  mkdirSync(dirname(to), PRIVATE_FOLDER);
  mkdirSync(waiting, PRIVATE_FOLDER);
  const incoming = join(waiting, ".incoming-openclaw");
  const reader = plan.source.files;
  const locked = await withFileLocks([changeLockPath(skills)], { timeoutMs: SKILL_LOCK_MS }, () => {
    rmSync(incoming, { recursive: true, force: true }); // left by a run that was killed
    for (const { path, name } of files) {
      const bytes = reader.read(path, bound);
      if (!bytes.ok || bytes.value === undefined) throw new Error(`${name} cannot be read any more`);
      const destination = join(incoming, ...name.split("/"));
      mkdirSync(dirname(destination), PRIVATE_FOLDER);
      writeFileAtomic(destination, bytes.value, { mode: statSync(path).mode & 0o700 });
    }
    const backup = backups.keep(to);
    if (backup !== null) rmSync(to, { recursive: true });
    renameSync(incoming, to);
    return backup;
  });
  if (!locked.ok) throw new Error("Another process changes skills at the moment");
  return { backup: locked.value };
}

/** Copies of what the run replaces: each path once, as it was before the run. */
class Backups {
  readonly #folder: string;
  /** Paths that did not exist when the run first wrote to them. */
  readonly #absent = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The copy, or null when there is nothing to copy. A copy of an interrupted run stays: it is the older one. */
  keep(path: string): string | null {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) this.#absent.add(path);
    if (this.#absent.has(path)) return null;
    const copy = join(this.#folder, relative(parse(path).root, path));
    if (existsSync(copy)) return copy;
    mkdirSync(dirname(copy), PRIVATE_FOLDER);
    const temp = `${copy}.${randomHex(4)}.tmp`;
    cpSync(path, temp, { recursive: true, dereference: false, preserveTimestamps: true });
    renameSync(temp, copy);
    return copy;
  }
}
