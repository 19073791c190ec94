// Child process: adds facts through the tools and reports each one that is stored, with a plain write so that nothing waits
// in a buffer when a kill comes. Arguments: home, name, count (0: until it is killed).
import { writeSync } from "node:fs";
import { createHolographicProvider } from "../../../src/providers/bundled/holographic/provider.ts";

const [home = "", name = "", count = "0"] = process.argv.slice(2);
const provider = createHolographicProvider();
await provider.initialize("s", { hermes_home: home });
writeSync(1, "ready\n");
for (let i = 0; count === "0" || i < Number(count); i += 1) {
  // Two entities each: one that every process meets, and one of its own.
  const content = `Maria Duarte and Number ${word(i)} saw ${name}`;
  const answer = JSON.parse(
    (await provider.handleToolCall?.("fact_store", { action: "add", content, category: "project" }, {})) ??
      "",
  );
  if (answer.error !== undefined) throw new Error(answer.error);
  writeSync(1, `${content}\n`);
}
await provider.shutdown?.({});

/** A number as a capitalised word, which makes it part of a name. */
function word(value: number): string {
  const letters = [...String(value)].map((digit) => "abcdefghij"[Number(digit)]);
  return `N${letters.join("")}`;
}
