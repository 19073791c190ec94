// Failures of work that a provider does not await, and the end of a process: real processes, their exit codes and counters.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readProviderHealth } from "../../../src/providers/manager/health.ts";
import { NODE_COMPILE_CACHE } from "../../fakes/compile-cache.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const SCRIPT = join(import.meta.dirname, "../../fakes/provider-process.ts");

type Ended = {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly home: string;
};

/** The process is killed after this long; one that ends normally takes a second. */
const PATIENCE_MS = 25_000;

async function run(scenario: string, flags: readonly string[] = []): Promise<Ended> {
  const home = tempDirectory();
  const env = { ...process.env, NODE_COMPILE_CACHE, NODE_OPTIONS: "" };
  return new Promise((resolve) => {
    const args = [...flags, SCRIPT, scenario, home];
    execFile(process.execPath, args, { env, timeout: PATIENCE_MS }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, stderr, home });
    });
  });
}

describe("a process survives a provider that leaves behind", () => {
  it.each([
    ["a rejected promise", /left work behind that failed: leaked/],
    ["a rejected null", /left work behind that failed: null/],
    ["a rejected nothing printable", /left work behind that failed: something was thrown/],
    ["a promise that rejects later", /left work behind that failed: leaked/],
    ["a throw in a timer", /left work behind that failed: leaked/],
    ["a throw in an immediate", /left work behind that failed: leaked/],
    ["a throw in a microtask", /left work behind that failed: leaked/],
    ["a socket nobody listens to", /left work behind that failed: connect ECONNREFUSED/],
    ["a leak while it lists its tools", /left work behind that failed: leaked/],
    ["a leak while it is awaited", /left work behind that failed: leaked/],
    ["a throw when its deadline passes", /left work behind that failed: leaked/],
    ["a throw when the session switches", /left work behind that failed: leaked/],
    ["a throw when the agent shuts down", /left work behind that failed: leaked/],
    ["a leak in shutdown", /left work behind that failed: leaked/],
  ])("%s: exit code 0, one warning, one count", async (what, warning) => {
    const { code, stdout, stderr, home } = await run(`leak: ${what}`);
    expect([code, stderr]).toEqual([0, ""]);
    const { warnings, errors } = JSON.parse(stdout) as { warnings: string[]; errors: string[] };
    expect(warnings.filter((each) => each.includes("left work behind"))).toEqual([
      expect.stringMatching(warning),
    ]);
    expect(errors).toEqual([]);
    expect(readProviderHealth(home, "notes")).toMatchObject({ stray_errors: 1 });
  });
});

describe("an error of the agent itself", () => {
  it.each(["rejection", "rejected text", "exception"])(
    "(%s) ends the process with Node's exit code and message",
    async (what) => {
      const { code, stdout, stderr } = await run(`foreign: ${what}`);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("the agent's own");
    },
  );

  it.each([
    ["warn", 0],
    ["none", 0],
    ["warn-with-error-code", 1],
    ["strict", 1],
    ["throw", 1],
  ])("goes the way that --unhandled-rejections=%s says", async (mode, code) => {
    const ended = await run("foreign: rejection", [`--unhandled-rejections=${mode}`]);
    const wentOn = mode === "strict" || mode === "throw" ? "" : "went on\n";
    expect([ended.code, ended.stdout]).toEqual([code, wentOn]);
  });

  it.each([
    ["rejection", "somebody else's rejection\nwent on\n"],
    ["exception", "somebody else's exception\nwent on\n"],
  ])("(%s) is left to whoever listens for it", async (what, said) => {
    const { code, stdout } = await run(`foreign, listened to: ${what}`);
    expect([code, stdout]).toEqual([0, said]);
  });
});

describe("a process with a background task that never ends", () => {
  it.each(["nothing", "a server"])("and waits for %s ends after the shutdown", async (what) => {
    const { code, stdout, stderr, home } = await run(`wedged: ${what}`);
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({
      warnings: [expect.stringContaining("1 background task(s) of memory providers did not finish")],
      errors: [],
    });
    expect(readProviderHealth(home, "notes")).toMatchObject({ dropped_tasks: 1 });
  });
});

describe("a process that ends without a shutdown", () => {
  it("still leaves its counts", async () => {
    const { code, home } = await run("exit without shutdown");
    expect(code).toBe(0);
    expect(readProviderHealth(home, "notes")?.hooks.onTurnStart).toMatchObject({ calls: 1, failures: 1 });
  });
});
