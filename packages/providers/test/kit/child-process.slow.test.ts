import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type ChildRun, runChild } from "../../../core/src/providers/kit/child-process.ts";
import { startScript } from "../../../core/test/fakes/child.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { installBrv, isGone } from "../fakes/brv.ts";

const IDLE_CHILD = join(import.meta.dirname, "../fakes/brv/idle-child.ts");

describe("a child process", () => {
  it("returns its output and exit code", async () => {
    const end = await runChild(
      node("process.stdout.write('ö1'); process.stderr.write('ö2'); process.exitCode = 4"),
    );
    expect(end).toEqual({ kind: "exited", code: 4, stdout: "ö1", stderr: "ö2" });
  });

  it("has no exit code when a signal killed it", async () => {
    const end = await runChild(node("process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)"));
    expect(end).toMatchObject({ kind: "exited", code: undefined });
  });

  it("keeps characters whole that arrive in pieces", async () => {
    const script =
      "const b = Buffer.from('€'); process.stdout.write(b.subarray(0, 1)); setTimeout(() => process.stdout.write(b.subarray(1)), 30)";
    expect(await runChild(node(script))).toMatchObject({ stdout: "€" });
  });

  it("is killed at the time limit together with its children", async () => {
    const brv = installBrv({ mode: "hang" });
    const ended = runChild({ ...brvRun(brv), timeoutMs: 3_000 });
    const [call] = await brv.called(1);
    expect(await ended).toEqual({ kind: "timed-out", stderr: "" });
    await vi.waitFor(() =>
      expect([call?.pid, call?.childPid].map((pid) => isGone(pid ?? 0))).toEqual([true, true]),
    );
  });

  it("is killed when the caller aborts, and not started when that was before", async () => {
    const brv = installBrv({ mode: "hang" });
    const controller = new AbortController();
    const ended = runChild({ ...brvRun(brv), signal: controller.signal });
    const [call] = await brv.called(1);
    controller.abort();
    expect(await ended).toEqual({ kind: "aborted" });
    await vi.waitFor(() => expect(isGone(call?.childPid ?? 0)).toBe(true));
    expect(await runChild({ ...brvRun(brv), signal: controller.signal })).toEqual({ kind: "aborted" });
    expect(brv.calls()).toHaveLength(1);
  });

  it("is killed when its output exceeds the limit", async () => {
    const brv = installBrv({ mode: "flood" });
    expect(await runChild({ ...brvRun(brv), outputBytes: 1_000_000 })).toEqual({ kind: "flooded" });
    const [call] = brv.calls();
    await vi.waitFor(() => expect(isGone(call?.pid ?? 0)).toBe(true));
  });

  it("keeps the beginning of each stream when the rest is ignored", async () => {
    const script = "process.stdout.write('a'.repeat(200_000)); process.stderr.write('b'.repeat(200_000))";
    const end = await runChild({ ...node(script), outputBytes: 1_000, onOverflow: "ignore" });
    expect(end).toEqual({ kind: "exited", code: 0, stdout: "a".repeat(1_000), stderr: "b".repeat(1_000) });
  });

  it("is asked to end at the time limit, and killed when it does not", async () => {
    const script =
      "process.on('SIGTERM', () => {}); process.stderr.write('stuck'); setInterval(() => {}, 1000)";
    const end = await runChild({ ...node(script), timeoutMs: 1_500, graceMs: 300 });
    expect(end).toEqual({ kind: "timed-out", stderr: "stuck" });
  });

  it("is not waited for when another process holds its pipes open after its end", async () => {
    const brv = installBrv({ mode: "held" });
    expect(await runChild(brvRun(brv))).toMatchObject({ kind: "exited", code: 0 });
  });

  it("that cannot be started says why", async () => {
    const cwd = tempDirectory();
    const run = { ...node(""), cwd };
    expect(await runChild({ ...run, command: join(cwd, "none") })).toMatchObject({
      kind: "not-started",
      code: "ENOENT",
    });
    writeFileSync(join(cwd, "file"), "", { mode: 0o644 });
    expect(await runChild({ ...run, command: join(cwd, "file") })).toMatchObject({
      kind: "not-started",
      code: "EACCES",
    });
    expect(await runChild({ ...run, args: ["a\0b"] })).toMatchObject({ kind: "not-started" });
    expect(await runChild({ ...run, args: ["x".repeat(3_000_000)] })).toMatchObject({ kind: "not-started" });
  });

  it("in the background does not keep our process alive", async () => {
    const child = startScript(IDLE_CHILD);
    const pid = Number(await child.nextLine());
    expect(await child.rest()).toEqual([]);
    expect(isGone(pid)).toBe(false);
    process.kill(pid, "SIGKILL");
  });

  it("that is awaited ends with our process", async () => {
    const child = startScript(IDLE_CHILD, ["awaited"]);
    const pid = Number(await child.nextLine());
    onTestFinished(() => {
      if (!isGone(pid)) process.kill(pid, "SIGKILL");
    });
    await child.rest();
    await vi.waitFor(() => expect(isGone(pid)).toBe(true));
  });
});

function node(script: string): ChildRun {
  return {
    command: process.execPath,
    args: ["-e", script],
    cwd: tempDirectory(),
    env: {},
    timeoutMs: 20_000,
    outputBytes: 8_000_000,
  };
}

function brvRun({ bin, env }: { bin: string; env: Readonly<Record<string, string>> }): ChildRun {
  return { ...node(""), command: join(bin, "brv"), args: ["status", "--format", "json"], env };
}
