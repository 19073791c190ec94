import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { selectHome } from "../src/home.ts";
import { createProfile, listProfiles, useProfile } from "../src/profiles.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "profiles-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, content = "x", mode?: number): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content, mode === undefined ? {} : { mode });
}
function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

describe("listing profiles", () => {
  it("has the default first and alone in a new home", () => {
    expect(listProfiles(root)).toEqual([{ name: "default", home: root, active: true, hasMemory: false }]);
  });

  it("sorts the others, marks the active one and tells who has memory", () => {
    put("profiles/workshop/memories/MEMORY.md", "note");
    put("profiles/art/memories/MEMORY.md", "");
    put("profiles/.creating-x-1/config.yaml");
    put("profiles/a file");
    put("active_profile", "workshop\n");
    put("memories/USER.md", "u");
    expect(listProfiles(root).map(({ name, active, hasMemory }) => [name, active, hasMemory])).toEqual([
      ["default", false, true],
      ["art", false, false],
      ["workshop", true, true],
    ]);
  });
});

describe("creating a profile", () => {
  it("makes an empty private home", () => {
    const created = createProfile(root, "Workshop");
    const home = join(root, "profiles", "workshop");
    expect(created).toEqual({ ok: true, value: { name: "workshop", home, copied: [] } });
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(home, "memories"))).toEqual([]);
    expect(readdirSync(join(root, "profiles"))).toEqual(["workshop"]);
  });

  it("refuses existing, reserved and impossible names with a way out", () => {
    createProfile(root, "workshop");
    const again = createProfile(root, "WORKSHOP");
    expect(again).toMatchObject({ ok: false, error: { kind: "exists" } });
    expect(!again.ok && again.error.message).toContain("hermes profile use workshop");
    expect(createProfile(root, "default")).toMatchObject({ error: { kind: "reserved-name" } });
    expect(createProfile(root, "sudo")).toMatchObject({ error: { kind: "reserved-name" } });
    expect(createProfile(root, "../x")).toMatchObject({ error: { kind: "invalid-name" } });
    expect(createProfile(root, "new", { clone: "all", from: "gone" })).toMatchObject({
      error: { kind: "missing-profile", name: "gone" },
    });
    expect(readdirSync(join(root, "profiles"))).toEqual(["workshop"]);
  });

  it("clones settings, curated memory and skills", () => {
    put("memories/MEMORY.md", "notes");
    put("memories/USER.md", "user");
    put("memories/MEMORY.md.lock", "");
    put("config.yaml", "a: 1\n");
    put(".env", "KEY=1\n", 0o644);
    put("SOUL.md", "soul");
    put("skills/x/SKILL.md", "skill");
    put("skills/x/uv.lock", "part of the skill");
    put("state.db", "history");
    put("honcho.json", "{}");
    const created = createProfile(root, "copy", { clone: "config" });
    expect(created.ok && [...created.value.copied].sort()).toEqual(
      [".env", "SOUL.md", "config.yaml", "memories/MEMORY.md", "memories/USER.md", "skills"].sort(),
    );
    expect(read("profiles/copy/memories/MEMORY.md")).toBe("notes");
    expect(read("profiles/copy/skills/x/SKILL.md")).toBe("skill");
    expect(read("profiles/copy/skills/x/uv.lock")).toBe("part of the skill");
    expect(statSync(join(root, "profiles/copy/.env")).mode & 0o777).toBe(0o600);
    expect(existsSync(join(root, "profiles/copy/state.db"))).toBe(false);
    expect(existsSync(join(root, "profiles/copy/honcho.json"))).toBe(false);
    expect(existsSync(join(root, "profiles/copy/memories/MEMORY.md.lock"))).toBe(false);
  });

  it("clones everything but history", () => {
    const kept = [
      "memories/MEMORY.md",
      "memories/.archive/memory.jsonl",
      "honcho.json",
      "plugins/p/index.ts",
      ".env",
    ];
    const left = [
      "state.db",
      "state.db-wal",
      "memory_outbox.db",
      "retaindb_queue.db",
      "sessions/1.json",
      "logs/a.log",
      "pending/memory/1.json",
      "memories/.history/memory.jsonl",
      "memories/users/telegram-1/.history/memory.jsonl",
      "memories/MEMORY.md.lock",
      "memories/MEMORY.md.sqlite.lock",
      "skills/.skills.sqlite.lock",
      "memories/.mem_1.tmp",
      "gateway.pid",
      "gateway/local-token",
      "profiles/other/config.yaml",
      "active_profile",
    ];
    for (const path of [...kept, ...left]) put(path);
    expect(createProfile(root, "copy", { clone: "all" }).ok).toBe(true);
    for (const path of kept) expect(existsSync(join(root, "profiles/copy", path)), path).toBe(true);
    for (const path of left) expect(existsSync(join(root, "profiles/copy", path)), path).toBe(false);
  });

  it("copies from the named profile", () => {
    put("profiles/workshop/SOUL.md", "workshop soul");
    put("SOUL.md", "root soul");
    createProfile(root, "copy", { clone: "config", from: "workshop" });
    expect(read("profiles/copy/SOUL.md")).toBe("workshop soul");
  });

  it("gives the copy files of its own where the source has links", () => {
    put("shared/notes.md", "shared");
    mkdirSync(join(root, "memories"));
    symlinkSync(join(root, "shared/notes.md"), join(root, "memories/MEMORY.md"));
    symlinkSync("gone", join(root, "memories/USER.md"));
    put("skills/real/SKILL.md");
    symlinkSync("real", join(root, "skills/alias"));
    symlinkSync("..", join(root, "skills/real/loop"));
    expect(createProfile(root, "copy", { clone: "config" }).ok).toBe(true);
    expect(lstatSync(join(root, "profiles/copy/memories/MEMORY.md")).isFile()).toBe(true);
    expect(existsSync(join(root, "profiles/copy/memories/USER.md"))).toBe(false);
    writeFileSync(join(root, "profiles/copy/memories/MEMORY.md"), "mine");
    expect(read("shared/notes.md")).toBe("shared");
    writeFileSync(join(root, "profiles/copy/skills/alias/SKILL.md"), "changed");
    expect(read("skills/real/SKILL.md")).toBe("x");
  });
});

describe("using a profile", () => {
  it("makes it the sticky one, and the default again", () => {
    createProfile(root, "workshop");
    expect(useProfile(root, "Workshop")).toMatchObject({
      ok: true,
      value: { name: "workshop", active: true },
    });
    const context = { env: { HERMES_HOME: root }, platform: "linux", userHome: "/nowhere" } as const;
    expect(selectHome(context, {})).toMatchObject({ value: { profile: "workshop" } });
    expect(useProfile(root, "default").ok).toBe(true);
    expect(existsSync(join(root, "active_profile"))).toBe(false);
    expect(useProfile(root, "default").ok).toBe(true);
    expect(selectHome(context, {})).toMatchObject({ value: { profile: "default" } });
  });

  it("refuses a profile that does not exist and leaves the choice as it was", () => {
    createProfile(root, "workshop");
    useProfile(root, "workshop");
    const refused = useProfile(root, "gone");
    expect(!refused.ok && refused.error.message).toContain("hermes profile create gone");
    expect(read("active_profile")).toBe("workshop\n");
  });
});
