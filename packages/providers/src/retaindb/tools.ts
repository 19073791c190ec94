// The five tools for memories, and what the file tools share with them: reading arguments.
import { randomUUID } from "node:crypto";
import { readNumber } from "@hermes-memory/core/internal/providers";
import { type ServiceTool, ToolRefusal } from "../kit/networked/service.ts";
import { type Arguments, optionalText, requiredText as required, tool } from "../kit/networked/tools.ts";
import { forModel, overlayOf } from "./texts.ts";
import { MEMORY_UNITS, type MemoryType, type RetainDbWire } from "./wire.ts";

export const DEFAULT_IMPORTANCE = 0.7;
const DEFAULT_TOP_K = 8;
const MAX_TOP_K = 20;
/** Leaves room for the overlay, which has at most ten lines. */
const RAW_UNITS = 50_000;
/** Longer than any id of the server. */
const ID_CHARS = 200;
const MEMORY_TYPES: readonly MemoryType[] = [
  "factual",
  "preference",
  "goal",
  "instruction",
  "event",
  "opinion",
];

type Session = {
  readonly sessionId: () => string;
  /** Whether a memory belongs to this user: the server deletes by id alone. */
  readonly owns: (id: string, signal: AbortSignal) => Promise<boolean>;
};

export function memoryTools(wire: RetainDbWire, { sessionId, owns }: Session): readonly ServiceTool[] {
  return [
    tool({
      name: "retaindb_profile",
      description:
        "Overview of the user: what RetainDB knows about preferences, goals and facts from all conversations.",
      run: async (_args, signal) => forModel(await wire.profile(signal)),
    }),
    tool({
      name: "retaindb_search",
      description:
        "Search the memories of this user by meaning. Returns the closest ones with their ids and scores.",
      properties: {
        query: { type: "string", description: "What to look for." },
        top_k: {
          type: "integer",
          description: `How many results, at most ${MAX_TOP_K} (default ${DEFAULT_TOP_K}).`,
        },
      },
      required: ["query"],
      run: async (args, signal) => {
        const topK = Math.floor(readNumber(args.top_k, DEFAULT_TOP_K, { min: 1, max: MAX_TOP_K }));
        return forModel(await wire.search(requiredText(args, "query"), topK, sessionId(), signal));
      },
    }),
    tool({
      name: "retaindb_context",
      description:
        "What matters for a task: the user's profile and the memories that fit it, as one short text.",
      properties: { query: { type: "string", description: "The task or question at hand." } },
      required: ["query"],
      run: async (args, signal) => {
        const query = requiredText(args, "query");
        const [found, profile] = await Promise.all([
          wire.context(query, sessionId(), signal),
          wire.profile(signal),
        ]);
        return { context: overlayOf(profile, found).text, raw: forModel(found, RAW_UNITS) };
      },
    }),
    tool({
      name: "retaindb_remember",
      description: "Store one fact about the user or their work for later conversations.",
      isWriting: true,
      properties: {
        content: {
          type: "string",
          description: "The fact, so that it makes sense without this conversation.",
        },
        memory_type: {
          type: "string",
          enum: MEMORY_TYPES,
          description: "What kind of memory it is (default factual).",
        },
        importance: { type: "number", description: `From 0 to 1 (default ${DEFAULT_IMPORTANCE}).` },
      },
      required: ["content"],
      run: async (args, signal) => {
        const content = requiredText(args, "content");
        if (content.length > MEMORY_UNITS)
          throw new ToolRefusal(
            `content has ${content.length} characters, and RetainDB takes at most ${MEMORY_UNITS}. Store it in parts.`,
          );
        const type = choice(args, "memory_type", MEMORY_TYPES, "factual");
        const importance = readNumber(args.importance, DEFAULT_IMPORTANCE, { min: 0, max: 1 });
        const memory = { content, type, importance, sessionId: sessionId() };
        return forModel(await wire.add(memory, randomUUID(), signal));
      },
    }),
    tool({
      name: "retaindb_forget",
      description: "Delete one memory by its id, as retaindb_search or retaindb_profile returned it.",
      isWriting: true,
      properties: { memory_id: { type: "string", description: "The id of the memory." } },
      required: ["memory_id"],
      run: async (args, signal) => {
        const id = requiredId(args, "memory_id");
        if (!(await owns(id, signal))) throw new ToolRefusal(`This user has no memory with the id ${id}.`);
        return forModel((await wire.delete(id, signal)) ?? { success: true, memory_id: id });
      },
    }),
  ];
}

// ---- Shared with the file tools ----

export function requiredText(args: Arguments, key: string): string {
  return required(args, key, `${key} is required`);
}

export function requiredId(args: Arguments, key: string): string {
  const id = requiredText(args, key);
  if (id.length > ID_CHARS) throw new ToolRefusal(`${key} is not an id of RetainDB.`);
  return id;
}

export function choice<T extends string>(
  args: Arguments,
  key: string,
  choices: readonly T[],
  standard: T,
): T {
  const value = optionalText(args, key);
  const found = choices.find((each) => each.toLowerCase() === value.toLowerCase());
  if (found !== undefined || value === "") return found ?? standard;
  throw new ToolRefusal(`${key} must be one of ${choices.join(", ")}.`);
}
