// `hermes demo` from end to end: a real process, and behind it the whole agent with memory, sessions, search, review and undo. Its
// output is checked against the home it leaves behind.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentOptions } from "@hermes-memory/agent/internal/agent";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type DemoStep, demoSteps } from "../../src/demo/index.ts";
import { runHere, runHermes, runJson } from "./run.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const IDS = ["memory-write", "frozen-prompt", "snapshot", "search", "review", "undo", "files"];

describe("hermes demo", () => {
  it("with --json and --home shows every step with true statements, and leaves the files that it tells of", async () => {
    const home = join(tempDirectory(), "demo");
    // The demo must ignore the user's settings and make no request to the network.
    const env = { OPENAI_API_KEY: "sk-none", HERMES_MODEL: "gpt-5", HTTPS_PROXY: "http://127.0.0.1:9" };
    const { stdout, stderr, code } = await runHermes(["demo", "--json", "--home", home], { home: "", env });
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
    const told = JSON.parse(stdout) as {
      steps: { id: string; ok: boolean; checks: Record<string, boolean> }[];
    };
    expect(told).toMatchObject({ ok: true, model: { scripted: true }, home });
    expect(told.steps.map(({ id }) => id)).toEqual(IDS);
    for (const { checks } of told.steps) expect(new Set(Object.values(checks))).toEqual(new Set([true]));

    const history = (await runJson(["memory", "history"], { home })) as Record<string, unknown>[];
    expect(history.toReversed()).toMatchObject([
      { origin: "tool", status: "committed" },
      { origin: "review", status: "undone" },
      { action: "undo", undoes: history[1]?.id },
    ]);
    expect(readFileSync(join(home, "memories", "MEMORY.md"), "utf8")).toContain("Vesuvius kiln");
    expect(readFileSync(join(home, "memories", "USER.md"), "utf8")).toBe("");

    const again = await runHere(["demo", "--home", home], { home: "" });
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("is not empty");
  });

  it("tells the steps in plain text, labelled as scripted, and leaves nothing behind", async () => {
    const temporary = tempDirectory();
    const home = join(tempDirectory(), "untouched");
    const { stdout, stderr, code } = await runHermes(["demo"], { home, env: { TMPDIR: temporary } });
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
    expect(stdout).toMatch(/^Two sessions of the real agent.*\nOnly the model is not real: a script/);
    expect(stdout.match(/^ {2}ok /gm)).toHaveLength(IDS.length);
    expect(stdout).toMatch(/\n7 steps, all as they should be, in [\d.]+ s\.\n$/);
    expect(stdout).not.toMatch(/\u001b|FAIL/);
    expect(stdout).not.toContain(temporary);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(110);
    expect(readdirSync(temporary)).toEqual([]);
    expect(() => readdirSync(home)).toThrow("ENOENT");
  });

  it("is stopped by Ctrl-C with 130, and leaves nothing behind then either", async () => {
    const temporary = tempDirectory();
    const child = spawn(process.execPath, [MAIN, "demo"], { env: { ...process.env, TMPDIR: temporary } });
    const ended = once(child, "close");
    child.stdout.once("data", () => child.kill("SIGINT"));
    expect(await ended).toEqual([130, null]);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("ends with 1 and says which step failed when a memory file cannot be written", async () => {
    const temporary = tempDirectory();
    const { stdout, code } = await runHermes(["demo"], {
      home: "",
      env: { TMPDIR: temporary, NODE_OPTIONS: `--import ${BROKEN_DISK}` },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ {2}FAIL {4}curated memory /m);
    expect(stdout).toMatch(/\n[1-9] of 7 steps failed, in /);
    expect(readdirSync(temporary)).toEqual([]);
  });
});

/** Makes the rename that replaces MEMORY.md fail. */
const BROKEN_DISK = `data:text/javascript,${encodeURIComponent(`
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const rename = fs.renameSync;
  fs.renameSync = (from, to) => {
    if (String(to).endsWith("MEMORY.md")) throw Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
    rename(from, to);
  };
  syncBuiltinESMExports();
`)}`;

describe("a step of the demo", () => {
  it.each<readonly [string, Partial<AgentOptions>, readonly string[]]>([
    ["no review", { review: false }, ["review", "undo"]],
    ["no tools but memory's", { toolsets: ["memory"] }, ["search"]],
  ])("fails when its layer is not there, and only then: %s", async (_what, changes, failed) => {
    const steps: DemoStep[] = [];
    for await (const event of demoSteps(tempDirectory(), changes))
      if (event.kind === "step") steps.push(event.step);
    expect(steps.map(({ id }) => id)).toEqual(IDS);
    const untrue = steps.filter(({ checks }) => Object.values(checks).includes(false));
    expect(untrue.map(({ id }) => id)).toEqual(failed);
  });
});
