// The contract suites need no particular test runner: here node:test runs two of them, in a process of its own.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { suiteFor, type TestScope } from "../../packages/core/testing/runner.ts";

const program = join(import.meta.dirname, "node-test-contracts.ts");

/** The totals that node:test prints in the end, and the names of the tests that failed. */
function runUnderNodeTest(env: Readonly<Record<string, string>> = {}) {
  // NODE_TEST_CONTEXT would make it report to a runner around it.
  const { NODE_TEST_CONTEXT: _, ...outer } = process.env;
  const { status, stdout } = spawnSync(process.execPath, ["--test", "--test-reporter=tap", program], {
    env: { ...outer, ...env },
    encoding: "utf8",
  });
  const total = (name: string) => Number(stdout.match(new RegExp(`^# ${name} (\\d+)$`, "m"))?.[1]);
  const failed = [...stdout.matchAll(/^ +not ok \d+ - (.*)$/gm)].map(([, name]) => name);
  return { status, passed: total("pass"), failures: total("fail"), skipped: total("skipped"), failed };
}

it("the contracts of memory providers and context engines pass under node:test", () => {
  const outcome = runUnderNodeTest();
  // 55 tests of the example plugin, of which one needs the setting `max_chars` and one stored turns, and 21 of the compressor.
  expect(outcome).toEqual({ status: 0, passed: 74, failures: 0, skipped: 2, failed: [] });
});

it("under node:test a plugin that loses what it is told fails", () => {
  const { status, failures, failed } = runUnderNodeTest({ LOSES_NOTES: "1" });
  expect(status).toBe(1);
  expect(failures).toBeGreaterThan(0);
  expect(failed).toContain("finds a mirrored entry in another session, later");
});

/** The tests that a suite registers, by name; those to be skipped begin with "skip". */
function registered(
  register: (suite: ReturnType<typeof suiteFor>) => void,
): Map<string, () => void | Promise<void>> {
  const tests = new Map<string, () => void | Promise<void>>();
  const add = (name: string, body: () => void | Promise<void>) => void tests.set(name, body);
  const skip = (name: string, body: () => void | Promise<void>) => add(`skip ${name}`, body);
  register(suiteFor({ describe: (_name, body) => body(), it: Object.assign(add, { skip }), expect }));
  return tests;
}

it("a test gets one entry for each row, with the row's values in its name", () => {
  const tests = registered(({ it }) => {
    it.each([["a", 1, "100%"]])("%s and %d, not %j", () => {});
    it.each(["50% off", ""])("'%s'", () => {});
    it.each([{ name: "search" }])("$name hides", () => {});
    it.skipIf(true)("without a second handle", () => {});
  });
  expect([...tests.keys()]).toEqual([
    'a and 1, not "100%"',
    "'50% off'",
    "''",
    "search hides",
    "skip without a second handle",
  ]);
});

it("a runner gets functions without parameters, so that none waits for a callback", () => {
  const tests = registered(({ it }) => {
    it("plain", (_test: TestScope) => {});
    it.each([["a"]])("row", (_row) => {});
  });
  expect([...tests.values()].map((body) => body.length)).toEqual([0, 0]);
});

it("what a test left is cleaned up, last first, also when the test and a step fail; the test's failure is reported", async () => {
  const steps: string[] = [];
  let directory = "";
  const tests = registered(({ it }) =>
    it("fails", (test) => {
      directory = test.directory();
      test.after(() => steps.push("first"));
      test.after(() => {
        throw new Error("the step");
      });
      test.after(async () => steps.push(`last, ${existsSync(directory) ? "with" : "without"} the directory`));
      throw new Error("the test");
    }),
  );
  await expect(tests.get("fails")?.()).rejects.toThrow("the test");
  expect(steps).toEqual(["last, with the directory", "first"]);
  expect(existsSync(directory)).toBe(false);
});

it("a failed step fails a test that passed", async () => {
  const tests = registered(({ it }) =>
    it("passes", (test) => test.after(() => Promise.reject(new Error("the step")))),
  );
  await expect(tests.get("passes")?.()).rejects.toThrow("the step");
});
