// `hermes demo` from end to end: a real process, and behind it the whole agent with memory, sessions, search, review and undo. Its
// output is checked against the home it leaves behind.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { AgentOptions } from "@hermes-memory/agent/internal/agent";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type DemoStep, demoSteps } from "../../src/demo/index.ts";
import { runHermes } from "./run.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const IDS = ["memory-write", "frozen-prompt", "snapshot", "search", "review", "undo", "files"];

describe("hermes demo", () => {
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
