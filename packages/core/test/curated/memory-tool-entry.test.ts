// `memory` as an entry of the tool table.
import { describe, expect, it } from "vitest";
import { type CommittedWrite, curatedTools, type OpenedMemory } from "../../src/curated/index.ts";
import type { Tool, UseStore } from "../../src/tools/index.ts";
import { MemoryHome } from "../fakes/memory-home.ts";
import { callContext } from "../fakes/tools.ts";

type Written = { readonly write: CommittedWrite; readonly callId: string };

async function memoryOf(home: MemoryHome, writeApproval = false, approve?: () => string) {
  const writes: Written[] = [];
  const store = await home.open();
  const tool = memoryEntry((work, { callId }) =>
    work({
      store,
      context: {
        home: home.home,
        writeApproval,
        approve,
        sessionId: "s1",
        onCommitted: (write) => writes.push({ write, callId }),
      },
    }),
  );
  return { tool, writes };
}

function memoryEntry(use: UseStore<OpenedMemory>): Tool {
  const tool = curatedTools(use).find(({ name }) => name === "memory");
  if (tool === undefined) throw new Error("no memory tool");
  return tool;
}

describe("memory", () => {
  it("writes, and tells the agent which call did", async () => {
    const home = new MemoryHome();
    const { tool, writes } = await memoryOf(home);
    const args = { action: "add", target: "memory", content: "The kiln runs at 1240 degrees." };
    const outcome = await tool.run(args, callContext({ callId: "call_7" }));
    expect(JSON.parse(outcome.text)).toMatchObject({ success: true });
    expect(outcome.isError).toBeUndefined();
    expect(home.text()).toBe("The kiln runs at 1240 degrees.");
    expect(writes).toMatchObject([{ callId: "call_7", write: { target: "memory", op: { action: "add" } } }]);
    expect(home.journal()[0]).toMatchObject({ session: "s1" });
  });

  it("counts failures by turn, and tells the model to stop after three", async () => {
    const { tool } = await memoryOf(new MemoryHome());
    const fail = async (turnId: string) => {
      const args = { action: "remove", target: "memory", old_text: "nowhere" };
      const { text } = await tool.run(args, callContext({ taskId: "same", turnId }));
      return (JSON.parse(text) as { done?: boolean }).done;
    };
    const answers = [await fail("a"), await fail("a"), await fail("a"), await fail("a"), await fail("b")];
    expect(answers).toEqual([undefined, undefined, true, true, undefined]);
  });

  it("says that it is unavailable when there is no store", async () => {
    const tool = memoryEntry((work) => work({ store: undefined, context: {} }));
    const outcome = await tool.run({ action: "add" }, callContext());
    expect(outcome).toEqual({
      text: '{"error":"Memory is not available. It may be disabled in config or this environment.","success":false}',
      isError: true,
    });
  });
});
