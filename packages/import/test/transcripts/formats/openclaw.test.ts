import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openclaw } from "../../../src/transcripts/formats/openclaw.ts";
import type { Reading, TranscriptEvent } from "../../../src/transcripts/reader.ts";
import { makeFixtureHome } from "../fixture-home.ts";
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

  it("give a deleted session only when its file is named", async () => {
    const path = await save(".openclaw/agents/main/sessions/s1.jsonl.deleted.2026-02-18T11-00-00.000Z");
    expect((await readHome(openclaw, home)).sessions).toEqual([]);
    expect((await readHome(openclaw, home, { path })).sessions).toHaveLength(1);
  });

  it("are where the environment says", () => {
    const place = { home: "/home/ana", platform: "linux", cwd: "/" } as const;
    const roots = (env: Record<string, string>) => openclaw.roots({ ...place, env });
    expect(roots({ OPENCLAW_STATE_DIR: "~/state" })).toEqual([join("/home/ana", "state")]);
    expect(roots({ CLAWDBOT_STATE_DIR: "/srv/claw" })).toEqual(["/srv/claw"]);
    expect(roots({ OPENCLAW_HOME: "/srv" })[0]).toBe(join("/srv", ".openclaw"));
  });

  it("are read without titles while the list of sessions is being written", async () => {
    await save(".openclaw/agents/main/sessions/s1.jsonl");
    await save(".openclaw/agents/main/sessions/sessions.json", '{"agent:main:main": {"sess');
    const { sessions, unreadable } = await readHome(openclaw, home);
    expect(sessions[0]?.messages).toHaveLength(1);
    expect(unreadable).toHaveLength(1);
  });
});

it("leaves out sessions of a database that did not change", async () => {
  await makeFixtureHome("openclaw", home);
  const reading: Reading = {
    signal: new AbortController().signal,
    options: { includeBranches: true, includeReasoning: true, includeSystem: true, tools: "brief" as const },
    advanced: () => {},
    malformed: () => {},
    unknown: () => {},
    unreadable: () => {},
    isUnchanged: (nativeId, mark) => nativeId !== "travel-w2" && mark !== "",
    sessionBeginningWith: () => undefined,
    messageIdsOf: () => new Set(),
  };
  const path = join(home, ".openclaw/agents/travel/agent/openclaw-agent.sqlite");
  const events: TranscriptEvent[] = [];
  for await (const event of openclaw.read({ path }, reading)) events.push(event);
  expect(
    new Set(events.flatMap((event) => (event.kind === "session" ? [event.facts.nativeId] : []))),
  ).toEqual(new Set(["travel-w2"]));
});
