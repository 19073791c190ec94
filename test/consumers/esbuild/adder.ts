// A user's program: adds 40 entries and prints the texts that were acknowledged. Bundled by bundles.consumer.ts.
import { openMemory } from "@hermes-memory/core";

async function main(): Promise<void> {
  const [, , home = "", name = ""] = process.argv;
  const memory = await openMemory({ home });
  const texts: string[] = [];
  for (let i = 0; i < 40; i += 1) {
    const text = `${name} fact ${i}`;
    await memory.owner.add(text);
    texts.push(text);
  }
  await memory.close();
  console.log(JSON.stringify(texts));
}

void main();
