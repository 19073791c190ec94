// The `memory_history` tool: the journal of curated memory, to read. Taking changes back is left to people.
import { existsSync } from "node:fs";
import { type HistoryLine, MEMORY_TARGETS, type MemoryTarget } from "@hermes-memory/core/curated";
import { err, ok, type Result } from "@hermes-memory/core/lib";
import { openCurated } from "./curated.ts";
import type { Dependencies } from "./dependencies.ts";
import { refusal } from "./refusal.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

export const memoryHistorySchema = {
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
} as const;

export async function memoryHistory(args: unknown, deps: Dependencies): Promise<object> {
  const asked = parseArguments(args);
  if (!asked.ok) return refusal(asked.error);
  const { limit, id, ...scope } = asked.value;
  const all = await readHistory(scope, deps);
  if (all === undefined)
    return refusal("Memory is not available. It may be disabled in config or this environment.");
  const found = id === undefined ? all : all.filter((line) => line.id === id);
  if (id !== undefined && found.length === 0)
    return refusal(
      `No change has the id '${id.slice(0, 80)}'. Call memory_history without an id to list them.`,
    );
  const changes = found.slice(0, limit);
  return { success: true, changes, count: changes.length, total: found.length };
}

async function readHistory(
  scope: { target?: MemoryTarget },
  deps: Dependencies,
): Promise<HistoryLine[] | undefined> {
  if (!existsSync(deps.memory.home)) return [];
  return (await openCurated(deps))?.history(scope);
}

type Asked = { readonly target?: MemoryTarget; readonly limit: number; readonly id?: string };

/** Null and "" count as missing, as in the `memory` tool; a limit out of bounds is brought into them. */
function parseArguments(args: unknown): Result<Asked, string> {
  const given = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  const { target, limit, id } = given;
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
