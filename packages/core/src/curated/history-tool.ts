// The `memory_history` tool: lists changes from the journal. Reads only; taking changes back is left to the user.
import { err, isAbsent, isRecord, ok, type Result } from "../lib/index.ts";
import {
  argumentPreview,
  described,
  jsonOutcome,
  type Tool,
  type ToolArguments,
  type ToolDefinition,
  type UseStore,
} from "../tools/index.ts";
import type { MemoryStore } from "./memory-store.ts";
import { refusedCall } from "./memory-tool.ts";
import { MEMORY_TARGETS, type MemoryTarget } from "./types.ts";

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

/** For clients that show no history themselves; the agent's loop does not offer it. */
export function memoryHistoryEntry(use: UseStore<Pick<MemoryStore, "history"> | undefined>): Tool {
  return {
    ...described(HISTORY),
    answer: {
      type: "object",
      properties: {
        success: { type: "boolean" },
        changes: { type: "array", items: { type: "object" }, description: "The newest first." },
        count: { type: "integer" },
        total: {
          type: "integer",
          description: "Changes in the journal, also those that the limit left out.",
        },
      },
      required: ["success", "changes", "count", "total"],
    },
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
  const { limit, id, target } = asked.value;
  if (store === undefined)
    return refusedCall("Memory is not available. It may be disabled in config or this environment.");
  const all = await store.history({ target });
  const found = id === undefined ? all : all.filter((line) => line.id === id);
  if (id !== undefined && found.length === 0)
    return refusedCall(
      `No change has the id '${id.slice(0, 80)}'. Call memory_history without an id to list them.`,
    );
  const changes = found.slice(0, limit);
  return { success: true, changes, count: changes.length, total: found.length };
}

type Asked = { readonly target?: MemoryTarget; readonly limit: number; readonly id?: string };

/** Null and "" count as missing, as in the `memory` tool; a limit out of bounds is clamped. */
function parseHistoryArguments(args: ToolArguments): Result<Asked, string> {
  const { target, limit, id } = isRecord(args) ? args : {};
  const known = MEMORY_TARGETS.find((each) => each === target);
  if (known === undefined && !isAbsent(target)) return err("Invalid target. Use 'memory' or 'user'.");
  if (typeof id !== "string" && !isAbsent(id)) return err("id must be a string, as in an earlier answer.");
  const count = parseLimit(limit);
  if (count === undefined) return err(`limit must be a whole number from 1 to ${MAX_LIMIT}.`);
  return ok({ target: known, limit: count, id: isAbsent(id) ? undefined : id });
}

/** Accepts a number in text: models often send one. */
function parseLimit(value: unknown): number | undefined {
  if (isAbsent(value)) return DEFAULT_LIMIT;
  const number = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
  return Number.isNaN(number) ? undefined : Math.min(MAX_LIMIT, Math.max(1, Math.trunc(number)));
}
