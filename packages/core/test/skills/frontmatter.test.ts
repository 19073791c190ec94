import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkSkillText,
  loadFrontmatterParser,
  parseLines,
  readSkillText,
  splitFrontmatter,
  toHeader,
} from "../../src/skills/frontmatter.ts";
import { skillText } from "./skill-home.ts";

const parse = await loadFrontmatterParser();

function check(text: string): string {
  const checked = checkSkillText(text, { directoryName: "deploy" }, parse);
  return checked.ok ? "ok" : `${checked.error.kind}: ${checked.error.message}`;
}

function header(text: string) {
  return toHeader(readSkillText(text, parse));
}

describe("frontmatter", () => {
  it("gives back any text it is put before", () => {
    const yaml = fc
      .array(fc.stringMatching(/^[a-z]{1,8}: [ -,.-~]{0,20}$/))
      .map((lines) => lines.map((l) => `${l}\n`).join(""));
    fc.assert(
      fc.property(yaml, fc.string({ unit: "grapheme" }), (top, body) => {
        expect(splitFrontmatter(`---\n${top}---\n${body}`)).toEqual({ kind: "closed", yaml: top, body });
      }),
    );
  });

  it("reads any text at all without failing", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "---",
        "\n",
        "---\n",
        "name:",
        "description: x",
        "&a",
        "*a",
        "<<: *a",
        "\t",
        "{",
        "\r\n",
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const { name, description } = header(pieces.join(""));
        expect(`${name}${description}`).not.toMatch(/[\n\r\0]/);
        expect([...description].length).toBeLessThanOrEqual(1024);
      }),
    );
  });

  it("takes a name and description through YAML unchanged", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/), (description) => {
        const text = `---\nname: deploy\ndescription: ${JSON.stringify(description)}\n---\nbody`;
        expect(header(text).description).toBe(description.replace(/ +/g, " "));
        expect(checkSkillText(text, { directoryName: "deploy" }, parse)).toEqual({
          ok: true,
          value: { name: "deploy", description },
        });
      }),
    );
  });

  it("falls back to lines where the YAML is broken, and leaves indented ones to their section", () => {
    const broken =
      "---\nname: deploy\ndescription: Use it: always [\nmetadata:\n  name: other\nplatforms: [linux, macos]\n---\nbody";
    expect(header(broken)).toMatchObject({
      name: "deploy",
      description: "Use it: always [",
      platforms: ["linux", "macos"],
    });
    expect(parseLines("__proto__: x\nname: 'a'\n").name).toBe("a");
  });

  it("survives aliases without end and lists that hold themselves", () => {
    const bomb = [
      "a: &a [x, x]",
      ...[..."bcdefghijk"].map((key, i) => `${key}: &${key} [${`*${"abcdefghij"[i]}, `.repeat(9)}x]`),
    ];
    expect(header(`---\nname: bomb\n${bomb.join("\n")}\n---\n`).name).toBe("bomb");
    expect(header("---\nname: loop\ntags: &t [*t]\n---\n").name).toBe("loop");
  });

  it("takes the first line that is no heading for a missing description", () => {
    expect(header("# Title\n\nShips the app.\nMore.")).toMatchObject({
      name: "",
      description: "Ships the app.",
    });
  });
});

describe("a SKILL.md that is written", () => {
  it.each([
    ["no frontmatter", "just text", "must start with YAML frontmatter"],
    ["a byte order mark", `\ufeff${skillText("deploy")}`, "must start with YAML frontmatter"],
    ["an open frontmatter", "---\nname: deploy\ndescription: x\n\nbody", "is not closed"],
    ["broken YAML", "---\nname: [\n---\nbody", "is not valid YAML"],
    ["a list", "---\n- name\n---\nbody", "does not hold keys and values"],
    ["no name", "---\ndescription: x\n---\nbody", "needs the field 'name'"],
    ["a name that is a number", "---\nname: 5\ndescription: x\n---\nbody", "needs the field 'name'"],
    ["no description", "---\nname: deploy\n---\nbody", "needs the field 'description'"],
    [
      "a blank description",
      '---\nname: deploy\ndescription: "  "\n---\nbody',
      "needs the field 'description'",
    ],
    ["a long description", skillText("deploy", "x".repeat(1025)), "at most 1,024 characters"],
    ["no body", "---\nname: deploy\ndescription: x\n---\n\n \n", "no content behind its frontmatter"],
    ["another name", skillText("other"), "differs from the skill's directory 'deploy'"],
    ["too much", skillText("deploy", "x", "y".repeat(100_000)), "at most 100,000 characters"],
    ["ten megabytes", "y".repeat(10_000_000), "at most 100,000 characters"],
    ["NUL", skillText("deploy", "x", "a\0b"), "NUL"],
    ["half a pair", skillText("deploy", "x", "a\ud800b"), "surrogate"],
  ])("is refused with %s", (_what, text, message) => {
    expect(check(text)).toContain(message);
  });

  it("may be as long as the limits say, counted in code points", () => {
    expect(check(skillText("deploy", "😀".repeat(1024), "y"))).toBe("ok");
    const frame = [...skillText("deploy", "x", "")].length;
    expect(check(skillText("deploy", "x", "😀".repeat(100_000 - frame)))).toBe("ok");
    expect(check(skillText("deploy", "x", "😀".repeat(100_001 - frame)))).toContain("too_large");
  });

  it("may have Windows line ends", () => {
    expect(check(skillText("deploy").replaceAll("\n", "\r\n"))).toBe("ok");
  });
});
