// The tools `mem0_profile`, `mem0_search` and `mem0_conclude`: schemas, arguments, answers.
import { codePointLength, takeCodePoints } from "@hermes-memory/core/internal/lib";
import { readBoolean, readNumber } from "@hermes-memory/core/internal/providers";
import { outgoing } from "../kit/networked/outgoing.ts";
import { type ServiceTool, ToolRefusal } from "../kit/networked/service.ts";
import type { Added, Listing, Memory, Search } from "./wire.ts";

/** The user's memory at Mem0, as the tools use it. */
export type UserMemory = {
  search(query: string, search: Search, signal: AbortSignal): Promise<readonly Memory[]>;
  profile(signal: AbortSignal): Promise<Listing>;
  /** Stores a text word for word. */
  conclude(text: string, signal: AbortSignal): Promise<Added["state"]>;
};

const TOP_K = { standard: 10, min: 1, max: 50 };

/** Longest text of one memory, and of all in one answer, in characters. */
const MEMORY_CHARS = 4_000;
const ANSWER_CHARS = 60_000;
/** What a result of a search has around its text. */
const RESULT_CHARS = 50;

type Arguments = Readonly<Record<string, unknown>>;

export function mem0Tools(memory: UserMemory): readonly ServiceTool[] {
  return [
    {
      definition: {
        name: "mem0_profile",
        description:
          "List everything that Mem0 has stored about the user: preferences, facts, project context. Fast, without reranking. Use it at the start of a conversation.",
        parameters: { type: "object", properties: {}, required: [] },
      },
      failure: "Failed to fetch profile",
      run: async (_, signal) => profileAnswer(await memory.profile(signal)),
    },
    {
      definition: {
        name: "mem0_search",
        description:
          "Search the user's memories by meaning. Returns facts, best match first. Set rerank for important queries where the order must be accurate.",
        parameters: {
          type: "object",
          properties: {
            query: { type: "string", description: "What to look for." },
            rerank: {
              type: "boolean",
              description: "Sort the matches again, more accurately and slower. Default: false.",
            },
            top_k: { type: "integer", description: "At most this many results. Default: 10, at most 50." },
          },
          required: ["query"],
        },
      },
      failure: "Search failed",
      run: async (args, signal) => {
        const query = requiredText(args, "query");
        const found = await memory.search(query, searchOf(args), signal);
        const { shown, isCut } = fitted(found, RESULT_CHARS);
        const results = shown.map(({ text, score }) => ({ memory: text, score }));
        if (results.length === 0) return { result: "No relevant memories found." };
        return { results, count: results.length, ...(isCut ? { truncated: true } : {}) };
      },
    },
    {
      definition: {
        name: "mem0_conclude",
        description:
          "Store one lasting fact about the user, word for word, without extraction by a model. Use it for preferences, corrections and decisions that the user stated explicitly.",
        parameters: {
          type: "object",
          properties: { conclusion: { type: "string", description: "The fact, as one full sentence." } },
          required: ["conclusion"],
        },
      },
      isWriting: true,
      failure: "Failed to store",
      run: async (args, signal) => {
        const state = await memory.conclude(requiredText(args, "conclusion"), signal);
        if (state === "stored") return { result: "Fact stored." };
        return {
          result: "Fact queued: Mem0 accepted it and stores it in the background.",
          status: "PENDING",
        };
      },
    },
  ];
}

/** Those with a text, as many as fit, each shortened. `around`: what each takes beside its text. */
function fitted(
  memories: readonly Memory[],
  around: number,
): { readonly shown: readonly Memory[]; readonly isCut: boolean } {
  const filled = memories.filter(({ text }) => text !== "");
  const shown: Memory[] = [];
  let room = ANSWER_CHARS;
  let isCut = false;
  for (const memory of filled) {
    const text = shortened(memory.text);
    room -= JSON.stringify(text).length + around; // as the model gets it
    if (room < 0) break;
    isCut ||= text !== memory.text;
    shown.push({ ...memory, text });
  }
  return { shown, isCut: isCut || shown.length < filled.length };
}

function shortened(text: string): string {
  return codePointLength(text) <= MEMORY_CHARS ? text : `${takeCodePoints(text, MEMORY_CHARS)}…`;
}

function profileAnswer({ memories, isWhole }: Listing): object {
  const { shown, isCut } = fitted(memories, 0);
  if (shown.length === 0) return { result: "No memories stored yet." };
  const result = shown.map(({ text }) => text).join("\n");
  return { result, count: shown.length, ...(isCut || !isWhole ? { truncated: true } : {}) };
}

function searchOf({ top_k, rerank }: Arguments): Search {
  const topK = Math.trunc(readNumber(top_k, TOP_K.standard, TOP_K));
  return { topK, isReranked: readBoolean(rerank, false) };
}

function requiredText(args: Arguments, key: string): string {
  const value = args[key];
  const text = typeof value === "string" ? outgoing(value) : "";
  if (text === "") throw new ToolRefusal(`Missing required parameter: ${key}`);
  return text;
}
