// A user's program: adds 40 entries, and prints the texts that were acknowledged and whether koffi was there to lock the file.
// Bundled by the programs that check bundlers.
import { readFileSync } from "node:fs";
import { openMemory } from "@hermes-memory/core";

async function main(): Promise<void> {
  const [, , home = "", name = ""] = process.argv;
  const memory = await openMemory({ home });
  const texts: string[] = [];
  const warnings = new Set<string>();
  for (let i = 0; i < 40; i += 1) {
    const { text, warning } = await memory.owner.add(`${name} fact ${i}`);
    texts.push(text);
    if (warning) warnings.add(warning);
  }
  const hasKoffi = process.platform === "linux" && readFileSync("/proc/self/maps", "utf8").includes("koffi");
  await memory.close();
  console.log(JSON.stringify({ texts, hasKoffi, warnings: [...warnings] }));
}

void main();
