// A program for `node --test`: the contract suites of context engines, for the compressor, and of memory providers, for the plugin of
// examples/memory-plugin or, with the environment variable LOSES_NOTES, for one that drops the memory writes it is told.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ContextCompressor } from "@hermes-memory/core/internal/context";
import { contextEngineContract, memoryProviderContract } from "@hermes-memory/core/testing";
import createNotesProvider from "../../examples/memory-plugin/index.ts";
import { expect } from "./node-expect.ts";

memoryProviderContract({ describe, it, expect }, "notes", {
  create: () => ({
    ...createNotesProvider(),
    ...(process.env.LOSES_NOTES === undefined ? {} : { onMemoryWrite: () => {} }),
  }),
  stored: (home) => {
    const path = join(home, "notes.jsonl");
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  },
});

contextEngineContract({ describe, it, expect }, "the compressor", async ({ contextLength, summarizer }) => ({
  engine: new ContextCompressor({ contextLength, summarizer }),
  prepare: async (messages) => messages,
}));
