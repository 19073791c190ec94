// A memory in a home of its own, closed when the test has ended.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Memory, openMemory, type UserMemory } from "../../src/memory/index.ts";
import { tempDirectory } from "./temp-directory.ts";

/** `config`: the text of config.yaml. */
export async function openedMemory(config = "", home = tempDirectory()): Promise<Memory> {
  if (config !== "") writeFileSync(join(home, "config.yaml"), config);
  const memory = await openMemory({ home });
  onTestFinished(() => memory.close());
  return memory;
}

/** A user of such a home. */
export async function ana(config = ""): Promise<UserMemory> {
  return (await openedMemory(config)).user({ platform: "web", id: "ana" });
}

/** Its owner. */
export async function owner(config = ""): Promise<UserMemory> {
  return (await openedMemory(config)).owner;
}
