// `hermes status`: where memory is and how full it is. Reads only: it does not create a home.
import { DEFAULT_MEMORY_CONFIG, type MemoryConfig } from "@hermes-memory/core/internal/config";
import { MEMORY_TARGETS, readPendingWrites } from "@hermes-memory/core/internal/curated";
import { describeCause, percentOf } from "@hermes-memory/core/internal/lib";
import { ConfigFailure, type Home } from "@hermes-memory/core/internal/memory";
import { VERSION } from "@hermes-memory/core/internal/version";
import type { CommandBody } from "./command.ts";
import { inspectTarget, isDirectory, type TargetFile } from "./inspect-files.ts";

export const status: CommandBody = async (_input, { home: selected, memory }) => {
  const { home, administrator } = memory;
  const { config, problem } = await configOf(memory);
  const files = MEMORY_TARGETS.map((target) => inspectTarget(administrator.directory, target, config));
  const isThere = isDirectory(home);
  const pending = countPending(administrator.pendingDirectory);
  const last = await lastChange(memory, config, files);
  const sessions = await countSessions(memory);
  const isOn = { memory: config.memoryEnabled, user: config.userProfileEnabled };
  const targets = files.map(({ target, entries, used, limit, trouble }) => {
    const percent = percentOf(used, limit);
    const sizes = { entry_count: entries.length, used_chars: used, char_limit: limit, percent };
    return [target, { ...sizes, enabled: isOn[target], error: trouble }] as const;
  });
  const json = {
    version: VERSION,
    home,
    home_exists: isThere,
    profile: selected.profile,
    targets: Object.fromEntries(targets),
    pending: pending ?? null,
    last_change: last ?? null,
    sessions,
    config_error: problem,
  };
  const rows = targets.map(([target, sizes]) => ({ target, ...sizes }));
  return {
    json,
    shown: { ...json, targets: rows, config_error: undefined },
    notes: [
      ...(problem === undefined ? [] : [`warning: ${problem} The defaults are shown.`]),
      ...nextSteps(files, pending, problem !== undefined),
    ],
  };
};

/** The defaults, and what is wrong with the file, where it cannot be used. */
async function configOf(memory: Home): Promise<{ readonly config: MemoryConfig; readonly problem?: string }> {
  try {
    return { config: await memory.memoryConfig() };
  } catch (cause) {
    if (!(cause instanceof ConfigFailure)) throw cause;
    return { config: DEFAULT_MEMORY_CONFIG, problem: cause.message };
  }
}

/** The newest change that took effect. A journal that cannot be read is left to doctor. */
async function lastChange({ administrator }: Home, config: MemoryConfig, files: readonly TargetFile[]) {
  const store = await administrator.curatedIn(administrator.directory, { config, isLoaded: false });
  const newest = files.flatMap(({ target, trouble }) => {
    const lines = trouble === undefined ? orElse([], () => store.history({ target })) : [];
    return lines.find(({ status: state }) => state === "committed" || state === "undone") ?? [];
  });
  const [last] = newest.sort((a, b) => (a.time < b.time ? 1 : -1));
  return (
    last && { id: last.id, time: last.time, target: last.target, action: last.action, origin: last.origin }
  );
}

/** Undefined when the directory cannot be read. */
function countPending(directory: string): number | undefined {
  return orElse(undefined, () => readPendingWrites(directory).records.length);
}

function orElse<T, E>(otherwise: E, read: () => T): T | E {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** Null when there is no database yet. */
async function countSessions(memory: Home) {
  try {
    const store = await memory.administrator.sessions({ mode: "read" });
    if (store === undefined) return null;
    const { sessions, archived, messages, bytes } = await store.stats();
    return { count: sessions + archived, messages, bytes };
  } catch (cause) {
    return { error: describeCause(cause) };
  }
}

function nextSteps(
  files: readonly TargetFile[],
  pending: number | undefined,
  isConfigBroken: boolean,
): string[] {
  const isEmpty = files.every(({ entries, trouble }) => entries.length === 0 && trouble === undefined);
  const isAnyUnwell = files.some(({ trouble, drift }) => trouble !== undefined || drift !== undefined);
  return [
    ...(isConfigBroken ? ["'hermes config check' lists every mistake."] : []),
    ...(isAnyUnwell || pending === undefined ? ["'hermes doctor' says what is wrong."] : []),
    ...(pending ? ["'hermes memory pending' lists what waits for approval."] : []),
    ...(isEmpty ? ["Nothing is remembered yet: hermes memory add 'Deploys go through make ship'"] : []),
  ];
}
