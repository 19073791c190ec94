// Interrupts while tools run.
import { type Tool, ToolTable } from "@hermes-memory/core/internal/tools";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { runBatch } from "../../../src/agent/tools/run-calls.ts";
import type { CheckedCall } from "../../../src/agent/turn/judge.ts";
import { batchContext, fakeTool, gate, type ToolChanges } from "../../fakes/agent-tools.ts";

const CALLS: readonly CheckedCall[] = [
  { id: "c1", name: "one", args: {} },
  { id: "c2", name: "two", args: {} },
];

function tableOf(one: ToolChanges): ToolTable {
  return new ToolTable([fakeTool("one", one), fakeTool("two")]);
}

describe("an interrupt", () => {
  it("before the first tool cancels all of them", async () => {
    const context = batchContext(tempDirectory());
    context.interrupt();
    const results = await runBatch(tableOf({}), CALLS, context);
    expect(results.map(({ kind, text }) => [kind, text])).toEqual([
      ["skipped", "[Tool execution cancelled — one was skipped due to user interrupt]"],
      ["skipped", "[Tool execution cancelled — two was skipped due to user interrupt]"],
    ]);
    expect(context.events).toEqual([]);
  });

  it("after one tool leaves its result and skips the others", async () => {
    const context = batchContext(tempDirectory());
    const one: Tool["run"] = async () => {
      context.interrupt();
      return { text: "done" };
    };
    const results = await runBatch(tableOf({ run: one }), CALLS, context);
    expect(results.map(({ kind, text }) => [kind, text])).toEqual([
      ["ran", "done"],
      ["skipped", "[Tool execution skipped — two was not started. User sent a new message]"],
    ]);
  });

  it("reaches the tool that runs, which may still say what it got", async () => {
    const context = batchContext(tempDirectory());
    const started = gate();
    const one: Tool["run"] = (_args, { signal }) => {
      started.open();
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve({ text: "half of it" }));
      });
    };
    const running = runBatch(tableOf({ run: one }), CALLS, context);
    await started.opened;
    context.interrupt();
    expect((await running)[0]).toMatchObject({ kind: "ran", text: "half of it" });
  });

  it("stops a tool that gives up when it is told", async () => {
    const context = batchContext(tempDirectory());
    const started = gate();
    const one: Tool["run"] = (_args, { signal }) => {
      started.open();
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    };
    const running = runBatch(tableOf({ run: one }), CALLS, context);
    await started.opened;
    context.interrupt();
    const [first] = await running;
    expect(first).toMatchObject({ kind: "stopped", isError: true });
    expect(first?.text).toContain("one was stopped by the user");
  });

  it("does not wait for a tool that goes on; what comes late is dropped, and the message says so", async () => {
    const context = batchContext(tempDirectory());
    const [started, late] = [gate(), gate()];
    const one: Tool["run"] = async () => {
      started.open();
      await late.opened;
      throw new Error("too late to matter");
    };
    const running = runBatch(tableOf({ run: one }), CALLS, context);
    await started.opened;
    context.interrupt();
    const [first, second] = await running;
    expect(first).toMatchObject({ kind: "abandoned", isError: true });
    expect(first?.text).toContain("Its result was dropped");
    expect(second).toMatchObject({ kind: "skipped" });
    late.open();
    await late.opened; // an unhandled rejection would fail the run
    expect(context.events.map(({ type }) => type)).toEqual(["tool-start", "tool-end"]);
  });

  it("ends a parallel batch too: what runs is told, what waits is skipped", async () => {
    const context = batchContext(tempDirectory());
    const eight = gate();
    let active = 0;
    const read = fakeTool("read", {
      effect: "read",
      run: (_args, { signal }) => {
        active += 1;
        if (active === 8) eight.open();
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve({ text: "told" }));
        });
      },
    });
    const calls = Array.from({ length: 10 }, (_, place) => ({ id: `c${place}`, name: "read", args: {} }));
    const running = runBatch(new ToolTable([read]), calls, context);
    await eight.opened;
    context.interrupt();
    const results = await running;
    expect(results.slice(0, 8).every(({ text }) => text === "told")).toBe(true);
    for (const { text } of results.slice(8))
      expect(text).toBe("[Tool execution skipped — read was not started. User sent a new message]");
  });
});
