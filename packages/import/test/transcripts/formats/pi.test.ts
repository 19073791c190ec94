// Three products write pi's records. Each file must be given to the right reader, and damage must not hide a conversation.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { READERS } from "../../../src/internal.ts";
import { pi } from "../../../src/transcripts/formats/pi.ts";
import { readHome } from "../read-fixture.ts";

const HEADER = { type: "session", version: 3, id: "s", timestamp: "2026-09-02T08:00:00Z", cwd: "/home/ana" };

describe("a file with pi's header", () => {
  it.each([
    ["/home/ana/.pi/agent/sessions/--home-ana--/a.jsonl", HEADER, "pi"],
    ["/home/ana/copied.jsonl", HEADER, "pi"],
    ["/home/ana/.openclaw/agents/main/sessions/s.jsonl", HEADER, "openclaw"],
    ["/home/ana/letta/conversations/abc/messages.jsonl", HEADER, "letta"],
    ["/home/ana/a.jsonl", { type: "session_meta", payload: { id: "s" } }, "codex"],
    ["/home/ana/a.json", { session: { id: "s" }, items: [] }, "codex"],
    ["/home/ana/a.jsonl", { id: "s", timestamp: "2025-08-05T10:00:00Z", instructions: null }, "codex"],
    ["/home/ana/helper.af", { agents: [], blocks: [] }, "letta"],
  ])("%s belongs to one reader", (path, first, source) => {
    const mine = ["codex", "openclaw", "letta", "pi"];
    const found = READERS.filter((reader) => reader.recognises({ path, first, head: new Uint8Array() }));
    expect(found.map((reader) => reader.source).filter((name) => mine.includes(name))).toEqual([source]);
  });
});

describe("pi's tree", () => {
  let home = "";
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), "hermes-pi-"));
    await mkdir(join(home, ".pi/agent/sessions/p"), { recursive: true });
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  async function inactive(
    ...entries: readonly (readonly [string, string | null | undefined])[]
  ): Promise<string[]> {
    const lines = entries.map(([id, parentId]) =>
      JSON.stringify({ type: "message", id, parentId, message: { role: "user", content: id } }),
    );
    const text = [JSON.stringify(HEADER), ...lines, ""].join("\n");
    await writeFile(join(home, ".pi/agent/sessions/p/a.jsonl"), text);
    return (await readHome(pi, home)).sessions[0]?.inactive ?? [];
  }

  it("has the branch of the last entry as its active one", async () => {
    expect(await inactive(["a", null], ["b", "a"], ["c", "a"])).toEqual(["b"]);
    expect(await inactive(["a", null], ["b", null])).toEqual(["a"]);
  });

  it("goes on after a parent whose line is damaged or missing", async () => {
    expect(await inactive(["a", null], ["c", "lost"], ["d", "c"])).toEqual([]);
    expect(await inactive(["a", null], ["b", undefined])).toEqual([]);
  });

  it("ends at an entry that is its own parent or part of a loop", async () => {
    expect(await inactive(["a", null], ["b", "b"])).toEqual([]);
    expect(await inactive(["a", "b"], ["b", "a"], ["a", "b"])).toEqual([]);
  });
});
