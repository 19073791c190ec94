// Work that is handed to children: side by side, each in a session of its own, and what the parent gets back.
import { describe, expect, it } from "vitest";
import {
  type DelegationHome,
  delegate,
  delegationHome,
  requestsOf,
} from "../../../agent/test/agent/delegation-home.ts";
import { lookTool } from "../../../agent/test/agent/turns.ts";
import { runHere } from "../cli/run.ts";

async function childRows({ agent }: Pick<DelegationHome, "agent">) {
  const all = (await agent.store?.listSessionsRich({ limit: 50, includeChildren: true })) ?? [];
  const rows = await Promise.all(all.map(({ id }) => agent.store?.getSession(id)));
  return rows.flatMap((row) => (row?.source === "subagent" ? [row] : []));
}

describe("one task", () => {
  it("runs in a child that knows goal and context only, and its summary comes back", async () => {
    const { tools } = lookTool();
    const made = await delegationHome({
      parent: [delegate({ goal: "count boats", context: "The harbour is north." })],
      options: { tools },
      child: (_goal, nth) =>
        nth === 0
          ? {
              toolCalls: [
                { name: "look", arguments: { at: "harbour" } },
                { name: "skill_view", arguments: { name: "none" } },
              ],
            }
          : { text: "There are 7 boats." },
    });
    expect(await made.agent.run("How many boats are there?")).toMatchObject({
      final_response: "Done.",
      api_calls: 2,
    });
    expect(made.answer()).toEqual({
      results: [
        {
          task_index: 0,
          status: "completed",
          summary: "There are 7 boats.",
          api_calls: 2,
          duration_seconds: expect.any(Number),
          model: "test-model",
          exit_reason: "completed",
          tokens: { input: expect.any(Number), output: expect.any(Number) },
          tool_trace: [
            { tool: "look", result_chars: 4, status: "ok" },
            { tool: "skill_view", result_chars: expect.any(Number), status: "error" },
          ],
        },
      ],
      total_duration_seconds: expect.any(Number),
    });
    const [request] = requestsOf(made, "count boats");
    expect(request?.messages).toHaveLength(1);
    const asked = String(request?.messages[0]?.content);
    expect(asked).toMatch(/^Your task:\ncount boats\n\nWhat you need to know:\nThe harbour is north\.\n\n/);
    expect(asked).not.toContain("How many");
  });
});

describe("the child's session", () => {
  it("is a row of its own below the parent's, with its owner, and out of the usual lists", async () => {
    const made = await delegationHome({
      parent: [delegate({ tasks: [{ goal: "a" }, { goal: "b" }] })],
      options: { user: { platform: "cli", id: "ana" } },
    });
    await made.agent.run("go");
    const rows = await childRows(made);
    expect(rows).toHaveLength(2);
    for (const row of rows) {
      expect(row).toMatchObject({
        source: "subagent",
        parent_session_id: made.agent.sessionId,
        user_id: "ana",
        title: null,
        message_count: 2,
        end_reason: expect.any(String),
      });
      expect(JSON.parse(String(row.model_config))).toMatchObject({ _delegate_from: made.agent.sessionId });
    }
    expect((await made.agent.store?.listSessionsRich({ limit: 10 }))?.map(({ id }) => id)).toEqual([
      made.agent.sessionId,
    ]);
    const { stdout } = await runHere(["sessions", "list", "--json"], { home: made.home });
    expect(stdout).toContain(made.agent.sessionId);
    for (const { id } of rows) expect(stdout).not.toContain(id);
    expect(await made.agent.store?.getCompressionTip(made.agent.sessionId)).toBe(made.agent.sessionId);
  });
});
