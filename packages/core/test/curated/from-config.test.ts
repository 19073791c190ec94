import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openMemoryStore } from "../../src/index.ts";
import { done, refused } from "../fakes/memory-home.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

it("a store opened from a home has the limits and switches of its config", async () => {
  const home = tempDirectory();
  const config = "memory:\n  memory_char_limit: 20\n  user_profile_enabled: false\n  overflow: archive\n";
  writeFileSync(join(home, "config.yaml"), config);
  const store = done(await openMemoryStore({ home }));
  expect(store.dir).toBe(join(home, "memories"));
  done(await store.apply("memory", { action: "add", content: "a note of 17 chars" }));
  const second = done(await store.apply("memory", { action: "add", content: "another" }));
  expect(second).toMatchObject({ charLimit: 20, archived: ["a note of 17 chars"] });
  refused(await store.apply("user", { action: "add", content: "x" }), "disabled");
  expect(store.renderSnapshot("user")).toBeUndefined();
});

it("each user of a gateway has a memory of their own", async () => {
  const home = tempDirectory();
  const open = async (platform: string, userId: string) =>
    done(await openMemoryStore({ home, user: { platform, userId } }));
  done(await (await open("telegram", "42")).apply("user", { action: "add", content: "Likes tea" }));
  expect((await open("telegram", "42")).entries("user")).toEqual(["Likes tea"]);
  expect((await open("telegram", "43")).entries("user")).toEqual([]);
  expect((await open("discord", "42")).entries("user")).toEqual([]);
  expect(done(await openMemoryStore({ home })).entries("user")).toEqual([]);
  const scope = (await open("telegram", "../../42")).dir;
  expect(scope.startsWith(join(home, "memories", "users", "telegram-"))).toBe(true);
});

it("a config that cannot be read is an error with the key's path, and opens nothing", async () => {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), "memory:\n  memory_char_limit: -1\n");
  const opened = await openMemoryStore({ home });
  expect(opened).toMatchObject({ ok: false, error: { issues: [{ key: "memory.memory_char_limit" }] } });
});
