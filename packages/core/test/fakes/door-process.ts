// Child process: adds numbered entries for one user through the door as fast as it can and reports each id.
// Arguments: home, user id, name, count.
import { openMemory } from "../../src/index.ts";

const [home = "", id = "", name = "", count = "1"] = process.argv.slice(2);
await using memory = await openMemory({ home });
const me = memory.user({ platform: "web", id });
for (let index = 0; index < Number(count); index += 1) {
  const written = await me.add(`note ${index} of writer ${name}`);
  console.log(written.id);
}
