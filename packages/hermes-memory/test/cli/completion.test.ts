import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { CommandSpec } from "../../src/cli/command.ts";
import { bashScript, fishScript, wordTable } from "../../src/cli/completion/completion.ts";
import { GROUPS } from "../../src/cli/program.ts";
import { runHermes, runJson } from "./run.ts";

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

const ALL = wordTable((await Promise.all(GROUPS.map((group) => group.load()))).flat());

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
    const { stdout, stderr, code } = await runHermes(["completion", shell], { home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const specs = (await Promise.all(GROUPS.map((group) => group.load()))).flat();
    for (const { name } of specs.filter(({ isHidden }) => !isHidden)) expect(stdout).toContain(name);
    expect(existsSync(home)).toBe(false);
  });

  it("offers the commands of the active provider", async () => {
    const home = tempDirectory();
    mkdirSync(join(home, "plugins/barn"), { recursive: true });
    writeFileSync(join(home, "plugins/barn/index.js"), "export default class BarnMemoryProvider {}");
    writeFileSync(
      join(home, "plugins/barn/cli.js"),
      `export function registerCli(command) {
  command.command("open").description("open the door").option("-w, --wide", "all of it");
}
`,
    );
    writeFileSync(join(home, "config.yaml"), "memory:\n  provider: barn\n");
    const { stdout, code } = await runHermes(["completion", "bash"], { home });
    expect(code).toBe(0);
    for (const word of ["barn", "barn open", "--wide"]) expect(stdout).toContain(word);
  });

  it("says which shells there are", async () => {
    const home = tempDirectory();
    const { stderr, code } = await runHermes(["completion", "tcsh"], { home });
    expect(code).toBe(2);
    expect(stderr).toContain("bash, zsh, fish");
    expect(await runJson(["completion", "bash"], { home })).toMatchObject({ shell: "bash" });
  });

  it("works when the active profile was deleted, because shells load it at start", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "active_profile"), "lost\n");
    expect((await runHermes(["completion", "bash"], { home })).code).toBe(0);
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

  it("offers the keys of config.yaml, from the table of keys", () => {
    expect(bashOffers(["hermes", "config", "get", "memory.pre"], ALL)).toEqual([
      "memory.prefetch_timeout_s",
      "memory.prefetch_max_age_turns",
    ]);
    expect(bashOffers(["hermes", "config", "set", "compression.hyg"], ALL)).toEqual([
      "compression.hygiene_threshold",
      "compression.hygiene_hard_message_limit",
    ]);
    expect(bashOffers(["hermes", "config", "unset", "memory.provi"], ALL)).toEqual(["memory.provider"]);
  });

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
  it.skipIf(hasFish)("(fish is not installed here, so its script was not checked)", () => {});
});
