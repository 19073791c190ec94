import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openclaw } from "../../../src/transcripts/formats/openclaw.ts";
import { readHome } from "../read-fixture.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-openclaw-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const SESSION = [
  { type: "session", version: 3, id: "s1", timestamp: "2026-02-18T10:00:00Z", cwd: "/home/ana" },
  { type: "message", id: "a1", parentId: null, message: { role: "user", content: "Water the plants" } },
]
  .map((record) => `${JSON.stringify(record)}\n`)
  .join("");

async function save(path: string, text = SESSION): Promise<string> {
  await mkdir(dirname(join(home, path)), { recursive: true });
  await writeFile(join(home, path), text);
  return join(home, path);
}

describe("OpenClaw's folders", () => {
  it.each([
    [".moltbot", "main-s1"],
    [".moltbot/agents", "main-s1"],
    [".moltbot/agents/main", "main-s1"],
    [".moltbot/agents/main/sessions", "main-s1"],
    [".moltbot/agents/main/sessions/s1.jsonl", "main-s1"],
  ])("are found when the user names %s", async (path, nativeId) => {
    await save(".moltbot/agents/main/sessions/s1.jsonl");
    const { sessions } = await readHome(openclaw, home, { path: join(home, path) });
    expect(sessions.map(({ facts }) => facts.nativeId)).toEqual([nativeId]);
  });
});
