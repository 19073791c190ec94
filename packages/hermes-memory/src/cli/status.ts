// `hermes status`: where memory is and how full. Only looks: on a machine without a home it leaves none behind.
import { DEFAULT_MEMORY_CONFIG, type MemoryConfig } from "@hermes-memory/core/config";
import { formatFraction, type HistoryLine, lookAtPending, MEMORY_TARGETS } from "@hermes-memory/core/curated";
import { describeCause, groupThousands, percentOf } from "@hermes-memory/core/lib";
import { ConfigFailure, type Memory } from "@hermes-memory/core/memory";
import { VERSION } from "@hermes-memory/core/version";
import type { CommandBody, CommandSpec, Paint, Terminal } from "./command.ts";
import { inspectTarget, isDirectory, type TargetFile } from "./inspect-files.ts";
import { counted, localTime, printable } from "./printing.ts";

export const statusCommands: readonly CommandSpec[] = [
  {
    name: "status",
    summary: "show home, profile, memory usage and the last change",
    examples: ["hermes status", "hermes -p work status --json"],
    load: async () => status,
  },
];

const status: CommandBody = async (_input, { home: selected, io, memory }) => {
  const { home, owner } = memory;
  const { config, problem } = await configOf(memory);
  const looks = MEMORY_TARGETS.map((target) => inspectTarget(owner.directory, target, config));
  const isThere = isDirectory(home);
  const pending = countPending(owner.pendingDirectory);
  const last = await lastChange(memory, config, looks);
  const sessions = await lookAtSessions(memory);
  const steps = nextSteps(looks, pending, problem !== undefined);
  return {
    json: {
      version: VERSION,
      home,
      home_exists: isThere,
      profile: selected.profile,
      targets: Object.fromEntries(looks.map((look) => [look.target, describe(look, config)])),
      pending: pending ?? null,
      last_change: last ? pick(last) : null,
      sessions,
      ...(problem === undefined ? {} : { config_error: problem }),
    },
    lines: [
      io.paint("bold", `hermes-memory ${VERSION}`),
      row("home", `${home}${isThere ? "" : io.paint("dim", "  (not there yet; the first write makes it)")}`),
      row("profile", selected.profile),
      ...looks.map((look) => row(look.target, usage(look, config, io.paint))),
      row("pending", pendingText(pending, io.paint)),
      row(
        "changed",
        last ? `${localTime(last.time)}  ${last.action} in ${last.target}, ${last.id}` : "never",
      ),
      row("sessions", sessionsText(sessions, io.paint)),
      ...(steps.length > 0 ? ["", "Next steps", ...steps.map((step) => `  ${asTyped(step, io.env)}`)] : []),
    ],
    notes: problem === undefined ? [] : [`warning: ${problem} The defaults are shown.`],
  };
};

/** The defaults, and what is wrong with the file, where it cannot be used. */
async function configOf(
  memory: Memory,
): Promise<{ readonly config: MemoryConfig; readonly problem?: string }> {
  try {
    return { config: await memory.memoryConfig() };
  } catch (cause) {
    if (!(cause instanceof ConfigFailure)) throw cause;
    return { config: DEFAULT_MEMORY_CONFIG, problem: cause.message };
  }
}

/** The newest change that took effect. A journal that cannot be read costs this line, not the overview. */
async function lastChange(
  { owner }: Memory,
  config: MemoryConfig,
  looks: readonly TargetFile[],
): Promise<HistoryLine | undefined> {
  const store = await owner.curatedIn(owner.directory, { config, isLoaded: false });
  const newest = looks.flatMap(({ target, trouble }) => {
    if (trouble !== undefined) return [];
    try {
      const lines = store.history({ target });
      return lines.find(({ status: state }) => state === "committed" || state === "undone") ?? [];
    } catch {
      return []; // doctor tells about it
    }
  });
  return newest.sort((a, b) => (a.time < b.time ? 1 : -1))[0];
}

type SessionsLook =
  | { readonly count: number; readonly messages: number; readonly bytes: number }
  | { readonly error: string };

/** Null when there is no database yet. One that cannot be opened costs this line, not the overview. */
async function lookAtSessions(memory: Memory): Promise<SessionsLook | null> {
  try {
    const store = await memory.everyone().sessions({ mode: "read" });
    if (store === undefined) return null;
    const { sessions, archived, messages, bytes } = await store.stats();
    return { count: sessions + archived, messages, bytes };
  } catch (cause) {
    return { error: describeCause(cause) };
  }
}

function sessionsText(sessions: SessionsLook | null, paint: Paint): string {
  if (sessions === null) return "none";
  if ("error" in sessions) return paint("red", printable(sessions.error));
  const { count, messages, bytes } = sessions;
  return `${groupThousands(count)}, ${groupThousands(messages)} messages, ${(bytes / 2 ** 20).toFixed(1)} MB`;
}

/** Undefined when this user may not look. */
function countPending(directory: string): number | undefined {
  try {
    return lookAtPending(directory).records.length;
  } catch {
    return undefined;
  }
}

function pendingText(pending: number | undefined, paint: Paint): string {
  if (pending === undefined) return paint("red", "cannot be read");
  return pending === 0 ? "none" : paint("yellow", `${counted(pending, "write")} to approve`);
}

function pick({ id, time, target, action, origin }: HistoryLine): object {
  return { id, time, target, action, origin };
}

function describe(look: TargetFile, config: MemoryConfig): object {
  return {
    entry_count: look.entries.length,
    used_chars: look.used,
    char_limit: look.limit,
    percent: percentOf(look.used, look.limit),
    enabled: isEnabled(look, config),
    ...(look.trouble === undefined ? {} : { error: look.trouble }),
  };
}

const BAR_WIDTH = 20;

function usage(look: TargetFile, config: MemoryConfig, paint: Paint): string {
  if (look.trouble !== undefined) return paint("red", `cannot be read: ${look.trouble}`);
  const percent = percentOf(look.used, look.limit);
  const filled = look.used === 0 ? 0 : Math.max(1, Math.floor((percent / 100) * BAR_WIDTH));
  const bar = `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}]`;
  const style = percent >= 100 ? "red" : percent >= 80 ? "yellow" : "green";
  const entries = look.entries.length === 0 ? "empty" : counted(look.entries.length, "entry", "entries");
  const off = isEnabled(look, config) ? "" : paint("yellow", ", switched off");
  return `${paint(style, bar)} ${formatFraction(look)}  ${paint("dim", entries)}${off}`;
}

function nextSteps(
  looks: readonly TargetFile[],
  pending: number | undefined,
  isConfigBroken: boolean,
): string[] {
  const isEmpty = looks.every(({ entries, trouble }) => entries.length === 0 && trouble === undefined);
  const isAnyUnwell = looks.some(({ trouble, drift }) => trouble !== undefined || drift !== undefined);
  return [
    ...(isConfigBroken ? ["hermes config check"] : []),
    ...(isAnyUnwell || pending === undefined ? ["hermes doctor"] : []),
    ...(pending ? ["hermes memory pending"] : []),
    ...(isEmpty
      ? [
          "hermes memory add 'Deploys go through make ship'         a note for the agent",
          "hermes memory add -t user 'Prefers metric units'         a fact about you",
          "hermes --help                                            everything else",
        ]
      : []),
  ];
}

/** `npm start` shows this in a checkout, where there is no `hermes` to type yet. */
function asTyped(step: string, env: Terminal["env"]): string {
  return env.npm_lifecycle_event === "start" ? step.replace(/^hermes/, "npm run -s hermes --") : step;
}

function isEnabled({ target }: TargetFile, config: MemoryConfig): boolean {
  return target === "user" ? config.userProfileEnabled : config.memoryEnabled;
}

function row(name: string, text: string): string {
  return `  ${name.padEnd(8)} ${text}`;
}
