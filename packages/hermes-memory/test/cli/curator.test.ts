import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { takeRunLock } from "../../../agent/src/curator/run-lock.ts";
import { CuratorHome } from "../../../agent/test/curator/curator-home.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere } from "./run.ts";

const ENTRIES = [
  "The project uses pnpm for package management",
  "Package management in the project is done with pnpm, never yarn",
  "Deploys on Monday",
  "deploys on Monday.",
];

function homeWith(config = "", entries: readonly string[] = ENTRIES): string {
  const home = tempDirectory();
  mkdirSync(join(home, "memories"));
  writeFileSync(join(home, "memories/MEMORY.md"), `${entries.join("\n§\n")}\n`);
  if (config !== "") writeFileSync(join(home, "config.yaml"), config);
  return home;
}

const memoryOf = (home: string): string => readFileSync(join(home, "memories/MEMORY.md"), "utf8");
const jsonOf = ({ stdout }: { stdout: string }): Record<string, unknown> =>
  JSON.parse(stdout) as Record<string, unknown>;

describe("hermes curator run", () => {
  it("asks the model named in config, and stages what it proposes", async () => {
    const text = "The project uses pnpm for package management, never yarn";
    const reply = { merge: [{ entries: [1, 2], text }], contradictions: [], outdated: [] };
    const wire = await startWire("chat", [{ text: `\`\`\`json\n${JSON.stringify(reply)}\n\`\`\`` }]);
    const home = homeWith(
      `auxiliary:\n  curator:\n    model: tidy-1\n    base_url: ${wire.url}\n    api_key: none\n`,
    );
    const outcome = await runHere(["curator", "run", "--apply", "--memory"], { home });
    expect(outcome.code).toBe(0);
    expect(outcome.stdout).toMatch(/kind +merge\n +by +model\n/);
    expect(memoryOf(home)).toBe(ENTRIES.slice(0, 3).join("\n§\n"));
    await runHere(["curator", "approve"], { home });
    expect(memoryOf(home)).toBe([text, ENTRIES[2]].join("\n§\n"));
    expect(wire.requests).toHaveLength(1);
    expect(JSON.stringify(wire.requests[0]?.body)).toContain("tidy-1");
    expect((await runHere(["curator", "history"], { home })).stdout).toContain("1 applied, 1 staged");
  });
});

describe("hermes curator and skills", () => {
  it("restores a backup that the original made, and takes that back; not while a curator is at work", async () => {
    const place = await CuratorHome.make();
    place.skill("tea", "Do it.");
    const { home } = place;
    const id = place.backUp();
    const path = join(home, "skills/tea/SKILL.md");
    const before = readFileSync(path, "utf8");
    writeFileSync(path, "spoilt");
    expect((await runHere(["curator", "rollback", "--list"], { home })).stdout).toContain(`${id}  test`);
    const restore = (backup: unknown) =>
      runHere(["curator", "rollback", String(backup), "--yes", "--json"], { home });
    const lock = takeRunLock(home, "apply", new Date());
    if (!lock.ok) throw new Error(lock.error.message);
    expect(await restore(id)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("A curator is already running"),
    });
    lock.value[Symbol.dispose]();
    expect(readFileSync(path, "utf8")).toBe("spoilt");
    const { backup } = jsonOf(await restore(id));
    expect(readFileSync(path, "utf8")).toBe(before);
    expect(jsonOf(await restore(backup))).toMatchObject({ success: true, id: backup });
    expect(readFileSync(path, "utf8")).toBe("spoilt");
    expect(await restore("20200101T000000Z")).toMatchObject({ code: 1 });
  });
});
