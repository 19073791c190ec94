import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { openHome, openMemory } from "../../src/index.ts";
import { startScript } from "../fakes/child.ts";
import { fillPerson, holders } from "../fakes/filled-person.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const ANA = { platform: "web", id: "ana" } as const;
const BO = { platform: "web", id: "bo" } as const;
const KILLS = 12;

it("a killed erasure is finished by the next call, whenever the kill comes", async () => {
  const model = tempDirectory();
  {
    await using memory = openHome({ home: model });
    writeFileSync(join(model, "config.yaml"), "memory:\n  provider: holographic\n");
    await fillPerson(memory, memory.user(BO), "bo", "pebblefield");
    for (let number = 0; number < 20; number += 1)
      await fillPerson(memory, memory.user(ANA), `ana${number}`, "quartzitekiln");
  }
  let unfinished = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const home = join(tempDirectory(), "home");
    cpSync(model, home, { recursive: true });
    const child = startScript("erasing-process.ts", [home]);
    expect(await child.nextLine()).toBe("begins");
    await sleep(kill * 12); // spread over the whole work, which takes about 150 ms
    await child.kill();
    if (holders(home, "quartzitekiln").length > 0) unfinished += 1;
    {
      await using memory = await openMemory({ home });
      expect((await memory.user(ANA).erase()).remaining).toEqual([]);
      expect(await memory.user(ANA).erase()).toMatchObject({ entries: 0, sessions: 0, files: 0, pending: 0 });
      const store = await memory.administration.administrator.sessions({ mode: "write", create: true });
      expect(await store.file!.checkHealth()).toMatchObject({ ok: true });
      expect(await store.listSessionIds()).toHaveLength(6);
    }
    expect(holders(home, "quartzitekiln")).toEqual([]);
    expect(holders(home, "pebblefield").length).toBeGreaterThan(8);
  }
  expect(unfinished).toBeGreaterThan(0);
});
