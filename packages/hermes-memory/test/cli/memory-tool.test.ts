import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere } from "./run.ts";

const OWN = ["memory", "session_search", "memory_history", "skills_list", "skill_view", "skill_manage"];

describe("hermes memory tool", () => {
  it("lists the home's own tools although the provider cannot be started", async () => {
    const place = tempDirectory();
    writeFileSync(join(place, "config.yaml"), "memory:\n  provider: nowhere\n");
    const { code, stdout, stderr } = await runHere(["memory", "tool", "--json"], { home: place });
    expect(code).toBe(0);
    expect(JSON.parse(stdout).tools.map(({ name }: { name: string }) => name)).toEqual(OWN);
    expect(stderr).toContain("nowhere");
  });
});
