import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { CommandSpec } from "../../src/cli/command.ts";
import { bashScript, fishScript, wordTable } from "../../src/cli/completion/completion.ts";
import { GROUPS } from "../../src/cli/program.ts";
import { runHere } from "./run.ts";

/** A small table with every kind of flag, argument and group. */
const SPECS: readonly CommandSpec[] = [
  {
    name: "crane lift",
    summary: "lift it, don't drop: it's heavy $(boom)",
    arguments: [
      { name: "side", summary: "", choices: ["port", "starboard"] },
      { name: "load", summary: "" },
    ],
    flags: {
      speed: { kind: "text", short: "s", summary: "", choices: ["slow", "fast"] },
      log: { kind: "text", placeholder: "path", summary: "" },
      dry: { kind: "boolean", summary: "" },
    },
    load: async () => () => ({ json: null, lines: [] }),
  },
  { name: "crane log list", summary: "", load: async () => () => ({ json: null, lines: [] }) },
  { name: "crane secret", summary: "", isHidden: true, load: async () => () => ({ json: null, lines: [] }) },
];
const TABLE = wordTable(SPECS);

function isInstalled(shell: string): boolean {
  return spawnSync(shell, ["--version"]).status === 0;
}

/** The words that bash offers; the cursor is on the last one. */
function bashOffers(words: readonly string[], table = TABLE): string[] {
  const program = `${bashScript(table)}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hermes; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["-c", program, "bash", ...words], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
}

describe("hermes completion", () => {
  it.each(["bash", "zsh", "fish"])("prints a script for %s that names every command", async (shell) => {
    const home = join(tempDirectory(), "none");
    const { stdout, stderr, code } = await runHere(["completion", shell], { home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const specs = (await Promise.all(GROUPS.map((group) => group.load()))).flat();
    for (const { name } of specs.filter(({ isHidden }) => !isHidden)) expect(stdout).toContain(name);
    expect(existsSync(home)).toBe(false);
  });
});

describe("completion in bash", () => {
  const table: [readonly string[], readonly string[]][] = [
    [["hermes", ""], ["crane"]],
    [
      ["hermes", "-"],
      ["--profile", "--help", "--version"],
    ],
    [
      ["hermes", "crane", ""],
      ["lift", "log"],
    ],
    [["hermes", "crane", "li"], ["lift"]],
    [["hermes", "-p", "work", "crane", "log", ""], ["list"]],
    [["hermes", "--profile", "=", "crane", "crane", "li"], ["lift"]],
    [
      ["hermes", "crane", "lift", "--"],
      ["--profile", "--help", "--speed", "--log", "--dry", "--json"],
    ],
    [
      ["hermes", "crane", "lift", "--speed", ""],
      ["slow", "fast"],
    ],
    [["hermes", "crane", "lift", "-s", "f"], ["fast"]],
    [
      ["hermes", "crane", "lift", "--speed", "="],
      ["slow", "fast"],
    ],
    [["hermes", "crane", "lift", "--speed", "=", "s"], ["slow"]],
    [
      ["hermes", "crane", "lift", ""],
      ["port", "starboard"],
    ],
    [["hermes", "crane", "lift", "--dry", "--speed", "slow", "st"], ["starboard"]],
    [["hermes", "crane", "lift", "port", ""], []],
    [["hermes", "-p", ""], []],
    [["hermes", "crane", "lift", "--log", ""], []],
  ];
  it.each(table)("offers for %j: %j", (words, offers) => expect(bashOffers(words)).toEqual(offers));

  it("does not run shell code in a summary", () => {
    expect(bashScript(TABLE)).not.toContain("boom");
    expect(spawnSync("bash", ["-n"], { input: bashScript(TABLE) }).status).toBe(0);
  });
});

describe("completion in fish", () => {
  const hasFish = isInstalled("fish");

  it.runIf(hasFish)("fish takes the script and offers what fits", () => {
    const file = join(tempDirectory(), "hermes.fish");
    writeFileSync(file, fishScript(TABLE));
    const offers = (line: string): string[] => {
      const program = `source ${file}; complete -C '${line}'`;
      const { stdout, stderr } = spawnSync("fish", ["--no-config", "-c", program], { encoding: "utf8" });
      expect(stderr).toBe("");
      return stdout.split("\n").flatMap((each) => each.split("\t")[0] || []);
    };
    expect(offers("hermes ")).toEqual(["crane"]);
    expect(offers("hermes crane ")).toEqual(["lift", "log"]);
    expect(offers("hermes -p work crane log ")).toEqual(["list"]);
    expect(offers("hermes crane lift --speed ")).toEqual(["fast", "slow"]);
    expect(offers("hermes crane lift --dry p")).toEqual(["port"]);
    expect(offers("hermes crane lift port ")).toEqual([]);
  });
});
