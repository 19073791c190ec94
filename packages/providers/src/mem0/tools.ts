// The tools `mem0_profile`, `mem0_search` and `mem0_conclude`: schemas, arguments, answers.
import { readBoolean, readNumber } from "@hermes-memory/core/internal/providers";
import type { ServiceTool } from "../kit/networked/service.ts";
import { fitting, requiredText, shortened, tool } from "../kit/networked/tools.ts";
import type { Added, Listing, Memory, Search } from "./wire.ts";

/** The user's memory at Mem0, as the tools use it. */
export type UserMemory = {
  search(query: string, search: Search, signal: AbortSignal): Promise<readonly Memory[]>;
  profile(signal: AbortSignal): Promise<Listing>;
  /** Stores a text word for word. */
  conclude(text: string, signal: AbortSignal): Promise<Added["state"]>;
};

const TOP_K = { standard: 10, min: 1, max: 50 };
/** Longest text of one memory, in characters. */
const MEMORY_CHARS = 4_000;

export function mem0Tools(memory: UserMemory): readonly ServiceTool[] {
  return [
    tool({
      name: "mem0_profile",
      description:
        "List everything that Mem0 has stored about the user: preferences, facts, project context. Fast, without reranking. Use it at the start of a conversation.",
      failure: "Failed to fetch profile",
      run: async (_, signal) => {
        const { memories, isWhole } = await memory.profile(signal);
        const { shown, isCut } = shownOf(memories, ({ memory }) => memory);
        if (shown.length === 0) return { result: "No memories stored yet." };
        const truncated = isCut || !isWhole ? { truncated: true } : {};
        return { result: shown.join("\n"), count: shown.length, ...truncated };
      },
    }),
    tool({
      name: "mem0_search",
      description:
        "Search the user's memories by meaning. Returns facts, best match first. Set rerank for important queries where the order must be accurate.",
      properties: {
        query: { type: "string", description: "What to look for." },
        rerank: {
          type: "boolean",
          description: "Sort the matches again, more accurately and slower. Default: false.",
        },
        top_k: { type: "integer", description: "At most this many results. Default: 10, at most 50." },
      },
      required: ["query"],
      failure: "Search failed",
      run: async (args, signal) => {
        const query = requiredText(args, "query");
        const topK = Math.trunc(readNumber(args.top_k, TOP_K.standard, TOP_K));
        const search = { topK, isReranked: readBoolean(args.rerank, false) };
        const { shown: results, isCut } = shownOf(await memory.search(query, search, signal), (hit) => hit);
        if (results.length === 0) return { result: "No relevant memories found." };
        return { results, count: results.length, ...(isCut ? { truncated: true } : {}) };
      },
    }),
    tool({
      name: "mem0_conclude",
      description:
        "Store one lasting fact about the user, word for word, without extraction by a model. Use it for preferences, corrections and decisions that the user stated explicitly.",
      properties: { conclusion: { type: "string", description: "The fact, as one full sentence." } },
      required: ["conclusion"],
      isWriting: true,
      failure: "Failed to store",
      run: async (args, signal) => {
        const state = await memory.conclude(requiredText(args, "conclusion"), signal);
        if (state === "stored") return { result: "Fact stored." };
        const result = "Fact queued: Mem0 accepted it and stores it in the background.";
        return { result, status: "PENDING" };
      },
    }),
  ];
}

/** Those with a text, as many as fit, each shortened. */
function shownOf<T>(
  memories: readonly Memory[],
  show: (hit: { readonly memory: string; readonly score: number }) => T,
): { readonly shown: readonly T[]; readonly isCut: boolean } {
  const filled = memories.filter(({ text }) => text !== "");
  const hits = filled.map(({ text, score }) => ({ memory: shortened(text, MEMORY_CHARS), score }));
  const shown = fitting(hits.map(show));
  const isCut = shown.length < hits.length || filled.some(({ text }, at) => hits[at]?.memory !== text);
  return { shown, isCut };
}
