// Child process: views one skill again and again, which counts each time. Arguments: home, name, times.
import { SkillStore, skillViewTool } from "../../src/skills/index.ts";

const [home = "", name = "", times = "1"] = process.argv.slice(2);
const store = new SkillStore({ home, lockTimeoutMs: 60_000 });
for (let index = 0; index < Number(times); index += 1) {
  const view = (await skillViewTool(store, { name })) as { readonly success: boolean };
  if (!view.success) throw new Error(JSON.stringify(view));
}
