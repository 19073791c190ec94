import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkedPath, MemoryFiles } from "../../src/memory/memory-files.ts";
import { startScript } from "../fakes/child.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

describe("files of a person's memory", () => {
  it("lists directories before what they contain, without hidden items and links", async () => {
    const directory = tempDirectory();
    const files = new MemoryFiles(directory);
    await files.exclusively(() => {
      files.write(["b", "two.md"], "22");
      files.write(["b", "c", "three.md"], "333");
      files.write(["a.md"], "1");
    });
    mkdirSync(join(directory, "files/.git"));
    writeFileSync(join(directory, "files/.git/config"), "hidden");
    symlinkSync(directory, join(directory, "files/link"));
    expect(files.list([]).map(({ path, bytes }) => [path.join("/"), bytes])).toEqual([
      ["a.md", 1],
      ["b", 5],
      ["b/c", 3],
      ["b/c/three.md", 3],
      ["b/two.md", 2],
    ]);
    expect(files.find(["b"])).toBe("directory");
    expect(files.find(["a.md", "x"])).toBeUndefined();
    expect(() => files.find(["link", "MEMORY.md"])).toThrow("it leads over a link");
  });

  it("a file that is not text is an error, not an empty text", async () => {
    const directory = tempDirectory();
    const files = new MemoryFiles(directory);
    await files.exclusively(() => files.write(["x.md"], "x"));
    writeFileSync(join(directory, "files/x.md"), Buffer.from([0x66, 0xff]));
    expect(() => files.read(["x.md"])).toThrow("not valid UTF-8");
  });

  it("names that could mean another place are refused", () => {
    expect(checkedPath(["notes", "Gärten 港.md"], "")).toEqual(["notes", "Gärten 港.md"]);
    for (const name of ["", ".", "..", ".x", "a\\b", "c:", "a\nb", "a\u0000", "\udc00"])
      expect(() => checkedPath(["notes", name], "/memories/...")).toThrow("cannot be used");
  });

  it("two processes that edit one file lose no line", async () => {
    const directory = tempDirectory();
    const writers = ["a", "b"].map((name) => startScript("file-lines-process.ts", [directory, name, "20"]));
    await Promise.all(writers.map((writer) => writer.rest()));
    const lines = new MemoryFiles(directory).read(["log.md"]).trim().split("\n");
    expect(new Set(lines).size).toBe(40);
  });
});
