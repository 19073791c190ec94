// The tools of curated memory as entries: one line for a person, what runs, the rules it runs under.
import { err, isRecord, ok, preview, type Result } from "../lib/index.ts";
import {
  argumentPreview,
  described,
  jsonOutcome,
  shownText,
  type Tool,
  type ToolArguments,
  type ToolDefinition,
  type UseStore,
} from "../tools/index.ts";
import type { MemoryStore } from "./store.ts";
import { type MemoryToolContext, memoryTool } from "./tool.ts";
import { refusedCall } from "./tool-result.ts";
import { memoryToolSchema } from "./tool-schema.ts";
import { MEMORY_TARGETS, type MemoryTarget } from "./types.ts";

export type OpenedMemory = {
  /** Undefined: switched off, and the tools say so. */
  readonly store: MemoryStore | undefined;
  readonly context: Omit<MemoryToolContext, "failedBefore">;
};

/** The tools of curated memory for the agent's loop and for clients of the MCP server. */
export function curatedTools(use: UseStore<OpenedMemory>): readonly Tool[] {
  return [memoryToolEntry(use)];
}

/** One entry for each agent: it counts the failures of a turn. */
function memoryToolEntry(use: UseStore<OpenedMemory>): Tool {
  let failures = { turn: "", count: 0 };
  return {
    ...described(memoryToolSchema),
    owner: { kind: "own" },
    policy: { toolset: "memory", effect: "write", isHousekeeping: true },
    preview: memoryToolPreview,
    run: (args, call) =>
      use(async ({ store, context }) => {
        const turn = call.turnId ?? call.taskId;
        if (failures.turn !== turn) failures = { turn, count: 0 };
        const counted = failures;
        const answer = await memoryTool(store, args, { ...context, failedBefore: counted.count });
        if ("success" in answer && answer.success === false) counted.count += 1;
        return jsonOutcome(answer);
      }, call),
  };
}

export function memoryToolPreview(args: unknown): string {
  const given = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  const target = shown(given.target ?? "memory", 25);
  if (Array.isArray(given.operations) && given.operations.length > 0)
    return `*${target}: ${given.operations.length} operations`;
  const oldText = given.old_text ? `"${shown(given.old_text, 20)}"` : '"<missing old_text>"';
  if (given.action === "add") return `+${target}: "${shown(given.content ?? given.new_text ?? "", 25)}"`;
  if (given.action === "replace") return `~${target}: ${oldText}`;
  if (given.action === "remove") return `-${target}: ${oldText}`;
  if (given.action === "search_archive") return `?${target}: "${shown(given.query ?? "", 25)}"`;
  return `${shown(given.action, 25)} ${target}`;
}

function shown(value: unknown, chars: number): string {
  return preview(shownText(value), chars);
}

// ---- the journal, to read: taking changes back is left to people ----

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

const HISTORY: ToolDefinition = {
  name: "memory_history",
  description: [
    "List what changed in memory, newest first: when, by whom, the text before and after, and whether the change was undone or refused. Reads only.",
    "Use it when the user asks why something is remembered, what was forgotten, or when an entry seems wrong. A change is taken back by the user with 'hermes memory undo <id>' in a terminal.",
  ].join("\n"),
  parameters: {
    type: "object",
    properties: {
      target: {
        type: "string",
        enum: ["memory", "user"],
        description: "Only this store: the agent's notes, or the user's profile. Default: both.",
      },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: MAX_LIMIT,
        description: `How many changes at most (default ${DEFAULT_LIMIT}).`,
      },
      id: { type: "string", description: "Only the change with this id." },
    },
    required: [],
  },
};

/** For clients that show no history of their own; the agent's loop has no use for it. */
export function memoryHistoryEntry(use: UseStore<Pick<MemoryStore, "history"> | undefined>): Tool {
  return {
    ...described(HISTORY),
    owner: { kind: "own" },
    policy: { toolset: "memory", effect: "read" },
    preview: argumentPreview,
    run: (args, call) => use(async (store) => jsonOutcome(await history(store, args)), call),
  };
}

async function history(
  store: Pick<MemoryStore, "history"> | undefined,
  args: ToolArguments,
): Promise<object> {
  const asked = parseHistoryArguments(args);
  if (!asked.ok) return refusedCall(asked.error);
  const { limit, id, ...scope } = asked.value;
  if (store === undefined)
    return refusedCall("Memory is not available. It may be disabled in config or this environment.");
  const all = await store.history(scope);
  const found = id === undefined ? all : all.filter((line) => line.id === id);
  if (id !== undefined && found.length === 0)
    return refusedCall(
      `No change has the id '${id.slice(0, 80)}'. Call memory_history without an id to list them.`,
    );
  const changes = found.slice(0, limit);
  return { success: true, changes, count: changes.length, total: found.length };
}

type Asked = { readonly target?: MemoryTarget; readonly limit: number; readonly id?: string };

/** Null and "" count as missing, as in the `memory` tool; a limit out of bounds is brought into them. */
function parseHistoryArguments(args: ToolArguments): Result<Asked, string> {
  const { target, limit, id } = isRecord(args) ? args : {};
  const known = MEMORY_TARGETS.find((each) => each === target);
  if (known === undefined && !isMissing(target)) return err("Invalid target. Use 'memory' or 'user'.");
  if (typeof id !== "string" && !isMissing(id)) return err("id must be a string, as in an earlier answer.");
  const count = parseLimit(limit);
  if (count === undefined) return err(`limit must be a whole number from 1 to ${MAX_LIMIT}.`);
  return ok({
    ...(known === undefined ? {} : { target: known }),
    limit: count,
    ...(typeof id === "string" && id !== "" ? { id } : {}),
  });
}

/** Numeric text passes: models write it often. */
function parseLimit(value: unknown): number | undefined {
  if (isMissing(value)) return DEFAULT_LIMIT;
  const number = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
  return Number.isNaN(number) ? undefined : Math.min(MAX_LIMIT, Math.max(1, Math.trunc(number)));
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}
