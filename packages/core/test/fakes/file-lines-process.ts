// Child process: appends numbered lines to a file of a person's memory, reading it before each write.
// Arguments: directory of the person, name, count.
import { MemoryFiles } from "../../src/memory/memory-files.ts";

const [directory = "", name = "", count = "1"] = process.argv.slice(2);
const files = new MemoryFiles(directory);
for (let index = 0; index < Number(count); index += 1) {
  await files.exclusively(() => {
    const before = files.find(["log.md"]) === undefined ? "" : files.read(["log.md"]);
    files.write(["log.md"], `${before}${name} ${index}\n`);
  });
  console.log(index);
}
