import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { codex } from "../../../src/transcripts/formats/codex.ts";
import { readHome } from "../read-fixture.ts";
import { eventsOf, OFF, plainReading } from "./plain-reading.ts";

const THREAD = "0199a000-0001-7000-8000-000000000001";
const OTHER = "0199a000-0002-7000-8000-000000000002";
const DAY = "sessions/2026/09/01";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-codex-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

function record(type: string, payload: object): string {
  return `${JSON.stringify({ timestamp: "2026-09-01T09:00:00Z", type, payload })}\n`;
}
function message(role: string, text: string): string {
  return record("response_item", { type: "message", role, content: [{ type: "input_text", text }] });
}
async function save(thread: string, text: string, folder = DAY, packed = false): Promise<string> {
  const name = `rollout-2026-09-01T09-00-00-${thread}.jsonl${packed ? ".zst" : ""}`;
  const path = join(home, ".codex", folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, packed ? zstdCompressSync(Buffer.from(text)) : text);
  return path;
}

describe("Codex transcripts", () => {
  it("keep their ids while the file grows, and after it was compressed", async () => {
    const begin =
      record("session_meta", { id: THREAD }) + message("user", "one") + message("assistant", "two");
    const path = await save(THREAD, begin);
    const [before] = (await readHome(codex, home)).sessions;
    const more = message("user", "three");
    await appendFile(path, more);
    const [grown] = (await readHome(codex, home)).sessions;
    expect(grown?.messages.slice(0, 2)).toEqual(before?.messages);
    expect(grown?.messages.map(({ text }) => text)).toEqual(["one", "two", "three"]);
    await rm(path);
    await save(THREAD, begin + more, "archived_sessions", true);
    expect((await readHome(codex, home)).sessions[0]?.messages).toEqual(grown?.messages);
  });

  it("have a first line of any length", async () => {
    const meta = record("session_meta", { id: THREAD, base_instructions: { text: "x".repeat(200_000) } });
    await save(THREAD, meta + message("user", "after a long header"));
    const { sessions, malformed } = await readHome(codex, home);
    expect(sessions[0]?.messages).toHaveLength(1);
    expect(malformed).toEqual([]);
  });

  it("give no reasoning and no system text unless asked", async () => {
    const thought = { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] };
    await save(
      THREAD,
      record("session_meta", { id: THREAD }) +
        message("developer", "rules") +
        message("user", "hello") +
        record("response_item", thought) +
        message("assistant", "hi"),
    );
    const [session] = (await readHome(codex, home, { options: OFF })).sessions;
    expect(session?.messages.map(({ role, reasoning }) => [role, reasoning])).toEqual([
      ["user", undefined],
      ["assistant", undefined],
    ]);
  });

  it("leave out what a subagent copied from its parent, and keep a turn before the header of the parent", async () => {
    const turn = (id: string): string => record("turn_context", { turn_id: id, model: "gpt-5" });
    await save(OTHER, record("session_meta", { id: OTHER }) + turn("t1") + message("user", "parent"));
    const source = { subagent: { thread_spawn: { parent_thread_id: OTHER, depth: 1 } } };
    const meta = record("session_meta", { id: THREAD, source });
    const copy = record("session_meta", { id: OTHER }) + turn("t1") + message("user", "parent");
    const own = turn("t2") + message("user", "own task");
    await save(THREAD, meta + copy + own);
    const texts = async (): Promise<unknown> =>
      (await readHome(codex, home)).sessions[0]?.messages.map(({ text }) => text);
    expect(await texts()).toEqual(["own task"]);
    await save(THREAD, meta + own + copy);
    expect(await texts()).toEqual(["own task", "parent"]);
  });

  it("with memory turned off are read when asked for", async () => {
    await save(
      THREAD,
      record("session_meta", { id: THREAD, memory_mode: "disabled" }) + message("user", "hi"),
    );
    const events = await eventsOf(codex, join(home, ".codex"), {
      options: { ...plainReading().options, includeMemoryDisabled: true },
    });
    expect(events.map(({ kind }) => kind)).toEqual(["session", "message"]);
  });
});
