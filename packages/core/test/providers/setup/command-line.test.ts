import { describe, expect, it } from "vitest";
import { isUsableSpec, packageNameOf, splitCommandLine } from "../../../src/providers/setup/dependencies.ts";

describe("splitting a command line", () => {
  it.each([
    ["brv --version", ["brv", "--version"]],
    ["  a\t b \n", ["a", "b"]],
    ["", []],
    [`run 'one word' "two words"`, ["run", "one word", "two words"]],
    [`a'b'"c"d`, ["abcd"]],
    [`'' ""`, ["", ""]],
    [`"a \\"q\\" \\\\ \\n"`, ['a "q" \\ \\n']],
    [`'a \\'`, ["a \\"]],
    ["a\\ b \\'", ["a b", "'"]],
    ["echo $HOME | cat > x; y && z", ["echo", "$HOME", "|", "cat", ">", "x;", "y", "&&", "z"]],
  ])("%j", (line, words) => {
    expect(splitCommandLine(line)).toEqual({ ok: true, value: words });
  });

  it.each(["'open", 'a "open', "end\\"])("refuses %j", (line) => {
    expect(splitCommandLine(line).ok).toBe(false);
  });
});

describe("what a plugin may ask npm for", () => {
  it.each([
    ["left-pad", "left-pad"],
    ["left-pad@^1.2", "left-pad"],
    ["@scope/pkg", "@scope/pkg"],
    ["@scope/pkg@>=1 <3", "@scope/pkg"],
    ["alias@npm:other@1", "alias"],
    ["local@file:../local", "local"],
    ["file:../local", undefined],
    ["../local", undefined],
    ["https://example.com/x.tgz", undefined],
    ["github:user/repo", undefined],
    ["user/repo", undefined],
    ["..", undefined],
  ])("%s is the package %s", (spec, name) => {
    expect(packageNameOf(spec)).toBe(name);
  });

  it("is nothing that npm would take for an option", () => {
    for (const spec of ["-g", "--prefix=/", "", " x", "a\nb", "a\0"]) expect(isUsableSpec(spec)).toBe(false);
    for (const spec of ["x", "@s/x@1", "file:../a b"]) expect(isUsableSpec(spec)).toBe(true);
  });
});
