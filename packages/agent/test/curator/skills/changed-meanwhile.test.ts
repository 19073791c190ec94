// The user changes skills after the curator has read them and before it changes them.

import type { TextModel } from "@hermes-memory/core";
import {
  approveSkillChange,
  pendingSkillsDirectory,
  readPendingSkills,
  readUsage,
  SkillStore,
  setPinned,
  skillViewTool,
} from "@hermes-memory/core/internal/skills";
import { describe, expect, it } from "vitest";
import { CuratorHome, clockAt, fakeModel } from "../curator-home.ts";

const NOW = "2026-06-01T00:00:00Z";
const apply = { mode: "apply", scope: "skills", clock: clockAt(NOW) } as const;
const propose = { ...apply, mode: "propose" } as const;
const ago = (days: number): string => new Date(Date.parse(NOW) - days * 86_400_000).toISOString();
const RULE = "\nNever push with force.\n";
const body = (name: string): string => `What to do about ${name}, step by step and with care. `.repeat(4);
const file = (name: string): string => `skills/${name}/SKILL.md`;

async function homeWith(...names: string[]): Promise<CuratorHome> {
  const home = await CuratorHome.make();
  for (const name of names) home.skill(name, body(name), { created_at: ago(2) });
  return home;
}

const addRule = (home: CuratorHome, name: string): void =>
  home.write(file(name), home.read(file(name)) + RULE);
const storeAt = (home: CuratorHome, time: string): SkillStore =>
  new SkillStore({ home: home.home, clock: clockAt(time) });

function umbrella(
  name: string,
  members: readonly string[],
  meanwhile = async (): Promise<void> => {},
): TextModel {
  const model = fakeModel({ umbrellas: [{ name, description: "Both", members, reason: "" }] });
  return {
    async complete(request) {
      await meanwhile();
      return model.complete(request);
    },
  };
}

async function approveAll(home: CuratorHome, store: SkillStore): Promise<object[]> {
  const { records } = readPendingSkills(pendingSkillsDirectory(home.home));
  const answers: object[] = [];
  for (const { id } of records) answers.push(await approveSkillChange(store, id));
  return answers;
}

const CONFLICT = { ok: false, error: { kind: "conflict" } };

describe("an umbrella", () => {
  it.each(["host", "part"])("that waits is not approved once its %s was edited", async (edited) => {
    const home = await homeWith("host", "part");
    const run = await home.run({ ...propose, model: umbrella("host", ["host", "part"]) });
    expect(run.decided).toMatchObject([{ outcome: { kind: "staged" } }]);
    addRule(home, edited);
    const before = home.read(file("host"));
    expect(await approveAll(home, storeAt(home, NOW))).toMatchObject([CONFLICT]);
    expect(home.read(file("host"))).toBe(before);
  });

  it.each(["host", "new-one"])(
    "called %s is not made when a member is edited while the model thinks",
    async (name) => {
      const home = await homeWith("host", "part");
      const before = home.read(file("host"));
      const model = umbrella(name, ["host", "part"], async () => addRule(home, "part"));
      const run = await home.run({ ...apply, model });
      expect(run.decided).toMatchObject([
        { outcome: { kind: "refused", reason: expect.stringContaining("part/SKILL.md") } },
      ]);
      expect(home.read(file("host"))).toBe(before);
      expect(home.read(file("part"))).toContain(RULE);
      expect(home.has("skills/new-one")).toBe(false);
    },
  );

  it("that leaves a member where it was says so", async () => {
    const home = await homeWith("aa", "bb", "cc");
    const pin = async (): Promise<void> => void (await setPinned(storeAt(home, NOW), "bb", true));
    const run = await home.run({ ...apply, model: umbrella("all", ["aa", "bb", "cc"], pin) });
    expect(run.decided).toMatchObject([{ outcome: { kind: "applied" } }]);
    expect(run.notes).toEqual([
      expect.stringMatching(/'all' is done only in part; it stopped at archiving 'bb': .*pinned/),
    ]);
    expect(["aa", "bb", "cc", "all"].filter((name) => home.has(file(name)))).toEqual(["bb", "cc", "all"]);
  });
});

describe("an archiving that waits", () => {
  it("is not approved once the skill was used", async () => {
    const home = await CuratorHome.make();
    home.skill("old", body("old"), { created_at: ago(120) });
    await home.run(propose);
    const store = storeAt(home, "2026-06-02T00:00:00Z");
    expect(await skillViewTool(store, { name: "old" })).toMatchObject({ success: true });
    expect(await approveAll(home, store)).toMatchObject([CONFLICT]);
    expect(home.has(file("old"))).toBe(true);
  });

  it.each(["part", "host"])("is not approved once the %s was edited", async (edited) => {
    const home = await homeWith("part");
    home.skill("host", `First this.\n\n${body("part")}\n\nThen more.`, { created_at: ago(2) });
    const run = await home.run(propose);
    expect(run.decided).toMatchObject([{ proposal: { skills: ["part"] }, outcome: { kind: "staged" } }]);
    addRule(home, edited);
    expect(await approveAll(home, storeAt(home, NOW))).toMatchObject([CONFLICT]);
    expect(home.has(file("part"))).toBe(true);
  });
});

describe("a person's skill with the name of an archived one", () => {
  it.each([{}, { agent_created: true }])("is theirs, and keeps its pin (%o)", async (more) => {
    const home = await CuratorHome.make();
    const archived = { created_at: ago(400), state: "archived", archived_at: ago(200), pinned: true };
    home.skill("again", body("again"), { ...archived, ...more });
    for (let count = 0; count < 2; count += 1) expect((await home.run(apply)).decided).toEqual([]);
    expect(home.has(file("again"))).toBe(true);
    expect(readUsage(storeAt(home, NOW)).get("again")).toMatchObject({
      created_by: null,
      state: "active",
      archived_at: null,
      pinned: true,
    });
  });
});
