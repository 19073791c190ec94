// Child process: adds facts through the tools and reports each stored fact with an unbuffered write, so that no report is lost when it is
// killed. Arguments: home, name, count (0: until it is killed).
import { writeSync } from "node:fs";
import { createHolographicProvider } from "../../src/holographic/provider.ts";

const [home = "", name = "", count = "0"] = process.argv.slice(2);
const provider = createHolographicProvider();
await provider.initialize("s", { hermes_home: home });
writeSync(1, "ready\n");
for (let i = 0; count === "0" || i < Number(count); i += 1) {
  // Two entities each: one that every process adds, and one that only this process adds.
  const content = `Maria Duarte and Number ${word(i)} saw ${name}`;
  const answer = JSON.parse(
    (await provider.handleToolCall?.("fact_store", { action: "add", content, category: "project" }, {})) ??
      "",
  );
  if (answer.error !== undefined) throw new Error(answer.error);
  writeSync(1, `${content}\n`);
}
await provider.shutdown?.({});

/** A number as a capitalised word, so that it is part of a name. */
function word(value: number): string {
  const letters = [...String(value)].map((digit) => "abcdefghij"[Number(digit)]);
  return `N${letters.join("")}`;
}
