// Imports in processes of their own: killed, interrupted, two at once, watching.
import { type ChildProcess, spawn } from "node:child_process";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { line, linesOf, textOfLines, writeClaude } from "../../../import/test/transcripts/claude-lines.ts";
import { contentsOf, temporaryFolder } from "../../../import/test/transcripts/import-suite.ts";
import { runHermes, runJson } from "../cli/run.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const KILLS = 8;
/** Of the sessions together, in megabytes. */
const SIZE_MB = 10;

function started(args: readonly string[], home: string): ChildProcess & { readonly heard: { text: string } } {
  const child = spawn(process.execPath, [MAIN, "sessions", "import", "--from", "claude-code", ...args], {
    env: { ...process.env, HERMES_HOME: home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const heard = { text: "" };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      heard.text += chunk.toString();
    });
  return Object.assign(child, { heard });
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode);
    else child.once("close", (code) => resolve(code));
  });
}

/** Small sessions and one that takes several transactions. */
async function writeMany(home: string): Promise<void> {
  const text = "the miller and the sluice ".repeat(30);
  const talk = (id: string, count: number) =>
    Array.from({ length: count }, (_, at) => line(id, at, `${text} ${at}`));
  const share = Math.floor((SIZE_MB * 1e6) / 1100);
  for (let at = 0; at < 10; at += 1) await writeClaude(home, `small-${at}`, talk(`small-${at}`, share / 20));
  await writeClaude(home, "large", talk("large", share / 2));
}

function soundness(home: string): unknown {
  using db = new DatabaseSync(join(home, "state.db"), { readOnly: true });
  return [db.prepare("PRAGMA integrity_check").all(), db.prepare("PRAGMA foreign_key_check").all()];
}

async function contents(home: string): Promise<unknown[]> {
  await using store = await openSessionStore({ path: join(home, "state.db") });
  return await contentsOf(store);
}

async function messageCount(home: string): Promise<number> {
  await using store = await openSessionStore({ path: join(home, "state.db") });
  return (await store.stats()).messages;
}

describe("an import that is cut off", () => {
  let clean: unknown[] = [];
  let source = "";
  let durationMs = 0;
  beforeAll(async () => {
    const folder = await temporaryFolder();
    source = folder.path;
    await writeMany(source);
    const home = join(source, "clean");
    const start = performance.now();
    await runJson(["sessions", "import", "--from", "claude-code", "--path", join(source, ".claude")], {
      home,
    });
    durationMs = performance.now() - start;
    clean = await contents(home);
    return () => folder[Symbol.asyncDispose]();
  }, 60_000);

  it("by kills at any point gives, run again, what one import gives", async () => {
    const home = join(source, "killed");
    const args = ["--path", join(source, ".claude")];
    let longest = 0;
    for (let at = 0; at < KILLS; at += 1) {
      const child = started(args, home);
      await sleep(durationMs * (0.25 + (0.7 * ((at * 5) % KILLS)) / KILLS));
      child.kill("SIGKILL");
      await ended(child);
      longest = Math.max(longest, await messageCount(home).catch(() => 0));
      // So that every kill meets an import that has work to do.
      if (at % 3 === 2) await removeNotes(home);
    }
    expect(longest).toBeGreaterThan(0);
    const { code, stderr } = await runHermes(["sessions", "import", "--from", "claude-code", ...args], {
      home,
    });
    expect([code, stderr]).toEqual([0, ""]);
    expect(await contents(home)).toEqual(clean);
    expect(soundness(home)).toEqual([[{ integrity_check: "ok" }], []]);
  }, 60_000);

  it("by Ctrl-C says so, and goes on the next time", async () => {
    const home = join(source, "interrupted");
    const args = ["--path", join(source, ".claude")];
    const child = started(args, home);
    await vi.waitFor(async () => expect(await messageCount(home)).toBeGreaterThan(0), {
      timeout: 20_000,
      interval: 20,
    });
    child.kill("SIGINT");
    expect(await ended(child)).toBe(130);
    expect(child.heard.text).toContain("The same command goes on where this stopped.");
    await runJson(["sessions", "import", "--from", "claude-code", ...args], { home });
    expect(await contents(home)).toEqual(clean);
  }, 60_000);
});

/** As if the sessions were half there: half of the messages of each are taken away, and the notes about the files. */
async function removeNotes(home: string): Promise<void> {
  await using store = await openSessionStore({ path: join(home, "state.db") });
  for (const { id } of await store.transcripts.listTranscripts())
    if (id.endsWith("large")) await store.deleteSession(id);
  await store.close();
  using db = new DatabaseSync(join(home, "state.db"));
  db.exec("DELETE FROM state_meta WHERE key LIKE 'import:%'");
}

describe("--watch", () => {
  it("finds new lines within seconds, also torn ones, lets other imports in and ends when told", async () => {
    await using folder = await temporaryFolder();
    const path = await writeClaude(folder.path, "s", linesOf("s", 2));
    const home = join(folder.path, "hermes");
    const child = started(["--path", path, "--watch"], home);
    try {
      await vi.waitFor(() => expect(child.heard.text).toContain("Watching"), { timeout: 10_000 });
      const found = async (word: string) => {
        await using store = await openSessionStore({ path: join(home, "state.db"), readOnly: true });
        return (await store.searchMessages(word, { limit: 5 })).length;
      };
      const soon = { timeout: 8000, interval: 100 };
      const torn = textOfLines([line("s", 4, "a wombat comes")]);
      await appendFile(path, textOfLines([line("s", 3, "a platypus comes")]) + torn.slice(0, 80));
      await vi.waitFor(async () => expect(await found("platypus")).toBe(1), soon);
      expect(await found("wombat")).toBe(0);
      await appendFile(path, torn.slice(80));
      await vi.waitFor(async () => expect(await found("wombat")).toBe(1), soon);
      const second = await runHermes(["sessions", "import", "--from", "claude-code", "--path", path], {
        home,
      });
      expect([second.code, second.stderr]).toEqual([0, ""]);
      await appendFile(path, textOfLines([line("s", 5, "a quokka comes")]));
      await vi.waitFor(async () => expect(await found("quokka")).toBe(1), soon);
      child.kill("SIGINT");
      expect(await ended(child)).toBe(0);
    } finally {
      child.kill("SIGKILL");
    }
    const next = started(["--path", path, "--watch"], home);
    await vi.waitFor(() => expect(next.heard.text).toContain("Watching"), { timeout: 10_000 });
    next.kill("SIGTERM");
    await ended(next);
    expect(next.signalCode).toBe("SIGTERM");
  }, 60_000);
});
