// A program that a bundler made of this library: koffi is not in the bundle and must not be missed while building.
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { startChild } from "../fakes/child.ts";
import { hasFlockProgram } from "../fakes/lock-modes.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

describe.each([
  { format: "esm", extension: "mjs" },
  { format: "cjs", extension: "cjs" },
] as const)("bundled as $format, away from every node_modules", ({ format, extension }) => {
  it("a program builds without naming koffi, and falls back to the locks it has", async () => {
    const directory = tempDirectory();
    const outfile = join(directory, `program.${extension}`);
    const contents = `
      import { tryWithFileLocks } from ${JSON.stringify(join(import.meta.dirname, "../../src/lib/index.ts"))};
      const gap = tryWithFileLocks([process.argv[2]], (gap) => gap?.missing ?? "none");
      console.log(JSON.stringify(gap));`;
    const built = await build({
      stdin: { contents, resolveDir: directory, loader: "ts" },
      bundle: true,
      format,
      platform: "node",
      target: "node24",
      outfile,
      metafile: true,
      logLevel: "error",
    });
    expect(Object.keys(built.metafile.inputs).filter((input) => input.includes("koffi"))).toEqual([]);
    const [line] = await startChild(process.execPath, [outfile, join(directory, "a.lock")]).rest();
    expect(JSON.parse(line ?? "")).toEqual({ ok: true, value: hasFlockProgram ? "none" : "kernel" });
  });
});
