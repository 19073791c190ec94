// Child process: rewrites one skill without end until it is killed, and reports every change that is done with a plain
// write, so that nothing waits in a buffer when the kill comes. Arguments: home, name, word.
import { writeSync } from "node:fs";
import { SkillStore, skillManageTool } from "../../src/skills/index.ts";

const [home = "", name = "", word = ""] = process.argv.slice(2);
const store = new SkillStore({ home, lockTimeoutMs: 60_000 });
writeSync(1, "ready\n");
for (let round = 0; ; round += 1) {
  const body = `${word}-${round} ${"wool ".repeat(2000)}end\n`;
  const content = `---\nname: ${name}\ndescription: ${word}-${round}\n---\n\n${body}`;
  const done = (await skillManageTool(store, { action: "edit", name, content })) as {
    readonly success: boolean;
  };
  if (!done.success) throw new Error(JSON.stringify(done));
  writeSync(1, `${word}-${round}\n`);
}
