// The public surface: what each entry point exports, and that docs/api describes all of it.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import * as agent from "hermes-memory/agent";
import * as aiSdk from "hermes-memory/ai-sdk";
import * as anthropic from "hermes-memory/anthropic";
import * as config from "hermes-memory/config";
import * as context from "hermes-memory/context";
import * as curated from "hermes-memory/curated";
import * as curator from "hermes-memory/curator";
import * as gateway from "hermes-memory/gateway";
import * as home from "hermes-memory/home";
import * as transcripts from "hermes-memory/import";
import * as langchain from "hermes-memory/langchain";
import * as mcp from "hermes-memory/mcp";
import * as memory from "hermes-memory/memory";
import * as message from "hermes-memory/message";
import * as models from "hermes-memory/models";
import * as openaiAgents from "hermes-memory/openai-agents";
import * as prompt from "hermes-memory/prompt";
import * as providers from "hermes-memory/providers";
import * as security from "hermes-memory/security";
import * as sessions from "hermes-memory/sessions";
import * as skills from "hermes-memory/skills";
import * as testing from "hermes-memory/testing";
import * as tools from "hermes-memory/tools";
import { describe, expect, it } from "vitest";
import * as library from "../packages/hermes-memory/src/index.ts";
import { apiPages, type EntryPoint, publicEntryPoints } from "../scripts/api-reference.ts";

const root = resolve(import.meta.dirname, "..");
const entries = publicEntryPoints();
/** Names at run time. `Object.keys` also tells knip that all of them are used. */
const SUBPATHS: Readonly<Record<string, readonly string[]>> = {
  agent: Object.keys(agent),
  "ai-sdk": Object.keys(aiSdk),
  anthropic: Object.keys(anthropic),
  config: Object.keys(config),
  context: Object.keys(context),
  curated: Object.keys(curated),
  curator: Object.keys(curator),
  gateway: Object.keys(gateway),
  home: Object.keys(home),
  import: Object.keys(transcripts),
  langchain: Object.keys(langchain),
  mcp: Object.keys(mcp),
  memory: Object.keys(memory),
  message: Object.keys(message),
  models: Object.keys(models),
  "openai-agents": Object.keys(openaiAgents),
  prompt: Object.keys(prompt),
  providers: Object.keys(providers),
  security: Object.keys(security),
  sessions: Object.keys(sessions),
  skills: Object.keys(skills),
  testing: Object.keys(testing),
  tools: Object.keys(tools),
};

/** What tests from outside import from packages/hermes-memory/src/index.ts. */
const USED_OUTSIDE = [
  ...["openMemory", "createAgent", "Agent", "HermesError"],
  ...["ENTRY_DELIMITER", "DEFAULT_MEMORY_CHAR_LIMIT", "DEFAULT_USER_CHAR_LIMIT", "MemoryStore", "memoryTool"],
  ...[
    "scanThreats",
    "MemoryManager",
    "buildMemoryContextBlock",
    "sanitizeContext",
    "StreamingContextScrubber",
  ],
  ...["openSessionStore", "sanitizeFtsQuery", "sessionSearchTool"],
  ...["ContextCompressor", "LosslessEngine", "applyPromptCaching"],
  ...["TextModel", "Result", "MemoryTarget", "MemoryOp", "MemoryOpOutcome", "MemoryError"],
  ...["MemoryProvider", "SessionStore", "ContextEngine"],
];

describe("the public surface", () => {
  it("has a doc comment for every name", () => {
    const bare = entries.flatMap(({ names }) =>
      names.filter(({ comment }) => comment === "").map(({ name, place }) => `${place} ${name}`),
    );
    expect([...new Set(bare)]).toEqual([]);
  });

  it.each(["@hermes-memory/core", "@hermes-memory/agent"])("stays small at the root of %s", (specifier) => {
    expect(namesOf(specifier).length).toBeLessThanOrEqual(70);
  });

  it("exports from hermes-memory what tests from outside use", () => {
    expect(USED_OUTSIDE.filter((name) => !namesOf("hermes-memory").includes(name))).toEqual([]);
    expect(Object.keys(library)).toEqual(expect.arrayContaining(USED_OUTSIDE.slice(0, 20)));
  });

  it("offers every public subpath of core and agent, and the doors, also as a subpath of hermes-memory", () => {
    const below = entries.filter(({ specifier }) => /^@hermes-memory\/\w+\/./.test(specifier));
    const missing = below.filter(({ specifier, names }) => {
      const same = `hermes-memory/${specifier.split("/").slice(2).join("/")}`;
      return namesOf(same).join() !== names.map(({ name }) => name).join();
    });
    expect(missing.map(({ specifier }) => specifier)).toEqual([]);
  });

  it.each(Object.entries(SUBPATHS))(
    "exports from hermes-memory/%s at run time what the types say",
    (name, found) => {
      const values = find(`hermes-memory/${name}`)
        .names.filter(({ kind }) => kind !== "type")
        .map((each) => each.name);
      expect([...found].sort()).toEqual(values.sort());
    },
  );
});

describe("docs/api", () => {
  it("is as the sources have it (npm run docs writes it)", () => {
    const pages = apiPages();
    const folder = join(root, "docs", "api");
    expect(readdirSync(folder).sort()).toEqual([...pages.keys()].sort());
    for (const [name, text] of pages) expect(readFileSync(join(folder, name), "utf8")).toBe(text);
  });

  it("describes every name once, and shows no private member", () => {
    const pages = [...apiPages().values()];
    const headings = pages.flatMap((text) => [...text.matchAll(/^## (\w+)$/gm)].map(([, name]) => name));
    const own = entries.filter(({ specifier }) => specifier.startsWith("@"));
    expect(new Set(headings)).toEqual(new Set(own.flatMap(({ names }) => names.map(({ name }) => name))));
    expect(pages.join("\n")).not.toMatch(/^ {2}(?:private |#|readonly #)/m);
  });
});

function find(specifier: string): EntryPoint {
  const entry = entries.find((each) => each.specifier === specifier);
  if (entry === undefined) throw new Error(`There is no entry point ${specifier}.`);
  return entry;
}

function namesOf(specifier: string): string[] {
  return find(specifier).names.map(({ name }) => name);
}
