// `hermes demo` from end to end: a real process, and behind it the whole agent with memory, sessions, review, compaction and
// undo. Its output is checked against the home it leaves behind.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentOptions } from "@hermes-memory/agent/internal/agent";
import { sessionDatabasePath } from "@hermes-memory/core/internal/home";
import { sha256 } from "@hermes-memory/core/internal/lib";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { memoryCommandsIn } from "../../src/cli/demo.ts";
import { type Step, scriptedReply, startScriptedServer } from "../../src/tour/index.ts";
import { runTour } from "../../src/tour/steps.ts";
import { runHere, runHermes, runJson } from "./run.ts";

type Tour = {
  readonly ok: boolean;
  readonly model: { readonly scripted: boolean };
  readonly home: string | null;
  readonly steps: readonly Omit<Step, "lines">[];
};

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const IDS = [
  "memory-write",
  "frozen-prompt",
  "snapshot",
  "search",
  "review",
  "compaction",
  "expand",
  "undo",
  "savings",
];

describe("hermes demo --json --home", () => {
  const folder = mkdtempSync(join(tmpdir(), "hermes-test-"));
  const home = join(folder, "tour");
  let tour: Tour;
  const facts = (id: string): Record<string, unknown> => ({
    ...tour.steps.find((step) => step.id === id)?.facts,
  });

  beforeAll(async () => {
    // The demo must ignore the user's settings and make no request to the network.
    const env = { OPENAI_API_KEY: "sk-none", HERMES_MODEL: "gpt-5", HTTPS_PROXY: "http://127.0.0.1:9" };
    const { stdout, stderr, code } = await runHermes(["demo", "--json", "--home", home], { home: "", env });
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
    tour = JSON.parse(stdout) as Tour;
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("shows every step with true statements, and says that the model is scripted", () => {
    expect(tour).toMatchObject({ ok: true, model: { scripted: true }, home });
    expect(tour.steps.map(({ id }) => id)).toEqual(IDS);
    for (const { checks, problem, ok } of tour.steps) {
      expect({ ok, problem, untrue: Object.keys(checks).filter((name) => !checks[name]) }).toEqual({
        ok: true,
        problem: null,
        untrue: [],
      });
      expect(Object.keys(checks).length).toBeGreaterThan(0);
    }
  });

  it("keeps the prompt's hash over a memory write, and changes it in the next session", () => {
    const { hash_before, hash_after, hash_next_turn } = facts("frozen-prompt");
    const { hash_session_1, hash_session_2, line } = facts("snapshot");
    expect(hash_before).toMatch(/^[0-9a-f]{64}$/);
    expect([hash_after, hash_next_turn, hash_session_1]).toEqual([hash_before, hash_before, hash_before]);
    expect(hash_session_2).not.toBe(hash_before);
    expect(line).toBe(facts("memory-write").entry);
  });

  it("gives hashes of the prompts that the database has for the sessions", async () => {
    await using store = await openSessionStore({ path: sessionDatabasePath(home), readOnly: true });
    const stored = async (id: unknown): Promise<string> =>
      sha256((await store.getOwnPrompt(String(id)))?.text ?? "");
    expect(await stored(facts("memory-write").session_id)).toBe(facts("frozen-prompt").hash_before);
    expect(await stored(facts("review").session_id)).toBe(facts("snapshot").hash_session_2);
  });

  it("writes, reviews and takes back as the journal of the home tells it", async () => {
    const told = (await runJson(["memory", "history"], { home })) as Record<string, unknown>[];
    expect(told.toReversed()).toMatchObject([
      { id: facts("memory-write").change_id, origin: "tool", status: "committed" },
      {
        id: facts("review").change_id,
        origin: "review",
        status: "undone",
        session: facts("review").session_id,
      },
      { action: "undo", origin: "cli", undoes: facts("review").change_id },
    ]);
    expect(readFileSync(join(home, "memories", "MEMORY.md"), "utf8")).toContain(facts("memory-write").entry);
    expect(readFileSync(join(home, "memories", "USER.md"), "utf8")).toBe("");
  });

  it("finds a message of session 1", () => {
    expect(facts("search")).toMatchObject({
      session_id: facts("memory-write").session_id,
      snippet: expect.stringContaining(">>>celadon<<<"),
    });
    expect(facts("memory-write").entry).not.toContain("celadon");
  });

  it("serves most of the review's request from the prefix of the conversation", () => {
    const { prompt_tokens, cached_tokens } = facts("review");
    expect(Number(cached_tokens) / Number(prompt_tokens)).toBeGreaterThan(0.8);
  });

  it("compacts into a continuation, and expands a message that is gone from it to the bytes in the database", async () => {
    const { old_session_id, session_id, title, tokens_before, tokens_after } = facts("compaction");
    const { original, expanded, store_id } = facts("expand");
    await using store = await openSessionStore({ path: sessionDatabasePath(home), readOnly: true });
    expect(await store.getSession(String(session_id))).toMatchObject({
      parent_session_id: old_session_id,
      title,
    });
    expect(title).toMatch(/ #2$/);
    expect(Number(tokens_after)).toBeLessThan(Number(tokens_before));
    expect(expanded).toBe(original);
    expect(await store.getMessagesById([Number(store_id)])).toMatchObject([{ content: original }]);
    const live = await store.getMessages(String(session_id));
    expect(live.filter(({ role, content }) => role !== "tool" && content === original)).toEqual([]);
  });

  it("says what caching saved: cached tokens times the difference of the example prices", () => {
    const { example_price, cache_read_tokens, cache_write_tokens, saved_usd, sessions, ...rest } =
      facts("savings");
    const { input, cache_read } = example_price as { readonly input: number; readonly cache_read: number };
    expect(saved_usd).toBeCloseTo((Number(cache_read_tokens) * (input - cache_read)) / 1e6, 9);
    expect(cache_write_tokens).toBe(0);
    expect(rest.reported_cached_tokens).toBe(cache_read_tokens);
    const each = sessions as readonly { readonly cache_read_tokens: number; readonly saved_usd: number }[];
    expect(each).toHaveLength(3);
    for (const session of each)
      expect(session.saved_usd).toBeCloseTo((session.cache_read_tokens * (input - cache_read)) / 1e6, 9);
  });

  it("does not work in a directory that has something in it", async () => {
    const before = readFileSync(join(home, "config.yaml"), "utf8");
    const { stderr, code } = await runHere(["demo", "--home", home], { home: folder });
    expect(code).toBe(2);
    expect(stderr).toContain("is not empty");
    expect(readFileSync(join(home, "config.yaml"), "utf8")).toBe(before);
  });
});

describe("hermes demo", () => {
  it("tells the steps in plain text, labelled as scripted, and leaves nothing behind", async () => {
    const temporary = tempDirectory();
    const home = join(tempDirectory(), "untouched");
    const { stdout, stderr, code } = await runHermes(["demo"], { home, env: { TMPDIR: temporary } });
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
    expect(stdout).toMatch(
      /^Three sessions of the real agent.*\nOnly the model is not real: a scripted server/,
    );
    expect(stdout.match(/^ {2}ok /gm)).toHaveLength(IDS.length);
    expect(stdout).toMatch(/\n9 steps, all as they should be, in [\d.]+ s\.\n$/);
    expect(stdout).not.toMatch(/\u001b|FAIL/);
    expect(stdout).not.toContain(temporary);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(110);
    expect(readdirSync(temporary)).toEqual([]);
    expect(() => readdirSync(home)).toThrow("ENOENT");
  });

  it("is stopped by Ctrl-C with 130, and leaves nothing behind then either", async () => {
    const temporary = tempDirectory();
    const child = spawn(process.execPath, [MAIN, "demo"], { env: { ...process.env, TMPDIR: temporary } });
    const ended = once(child, "close");
    child.stdout.once("data", () => child.kill("SIGINT"));
    expect(await ended).toEqual([130, null]);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("ends with 1 and says which step failed when a memory file cannot be written", async () => {
    const temporary = tempDirectory();
    const { stdout, code } = await runHermes(["demo", "--quiet"], {
      home: "",
      env: { TMPDIR: temporary, NODE_OPTIONS: `--import ${BROKEN_DISK}` },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ {2}FAIL {4}curated memory /);
    expect(stdout).toMatch(/\n[1-9] of 9 steps failed, in /);
    expect(readdirSync(temporary)).toEqual([]);
  });
});

/** Makes the rename that replaces MEMORY.md fail. */
const BROKEN_DISK = `data:text/javascript,${encodeURIComponent(`
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const rename = fs.renameSync;
  fs.renameSync = (from, to) => {
    if (String(to).endsWith("MEMORY.md")) throw Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
    rename(from, to);
  };
  syncBuiltinESMExports();
`)}`;

describe("a step of the tour", () => {
  async function failedWith(agent: Partial<AgentOptions>): Promise<readonly string[]> {
    await using server = await startScriptedServer(scriptedReply, []);
    const nothing = () => undefined;
    const home = tempDirectory();
    const steps = await runTour({
      home,
      server,
      agent,
      signal: new AbortController().signal,
      memoryCommands: memoryCommandsIn(home),
      narrator: { session: nothing, said: nothing, step: nothing },
    });
    expect(steps.map(({ id }) => id)).toEqual(IDS);
    return steps.filter(({ ok }) => !ok).map(({ id }) => id);
  }

  it.each<readonly [string, Partial<AgentOptions>, readonly string[]]>([
    ["no review", { review: false }, ["review", "undo"]],
    ["no tools but memory's", { toolsets: ["memory"] }, ["search", "expand"]],
  ])("fails when its layer is not there, and only then: %s", async (_what, agent, failed) => {
    expect(await failedWith(agent)).toEqual(failed);
  });
});
