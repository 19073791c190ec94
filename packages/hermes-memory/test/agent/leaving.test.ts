// The end of an agent: what is stored, what providers hear, what is still waited for.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentHome } from "../../../agent/test/agent/agent-home.ts";
import { recorded, told } from "../../../agent/test/agent/recorded.ts";
import { sessionIds } from "./chat-child.ts";

describe("leaving", () => {
  it("ends the session, hands over its messages, then shuts the provider down", async () => {
    const { agent, recorder, another } = await recorded();
    await agent.run("say one");
    const { sessionId } = agent;
    await agent.close();
    await agent.close();
    expect(told(recorder, "syncTurn")).toEqual([
      ["syncTurn", "say one", "reply to one"],
      ["onSessionEnd", ["user: say one", "assistant: reply to one"]],
      ["shutdown"],
    ]);
    const other = await another();
    expect(await other.store?.getSession(sessionId)).toMatchObject({ end_reason: "cli_close" });
  });

  it("with deleteSession takes every session that compactions made of it, and their files; branches stay", async () => {
    const { agent, home, another } = await agentHome(({ index }) => ({ text: `Answer ${index}.` }), {
      config: { sessions: { write_json_snapshots: true } },
    });
    await agent.run("a conversation of its own");
    const original = agent.sessionId;
    await agent.branch();
    const words = "the harbour crane turns slowly ".repeat(60);
    for (let n = 0; n < 8; n += 1) await agent.run(`${n} ${words}`);
    const head = agent.sessionId;
    const fork = await another({ resume: head });
    await fork.branch();
    await fork.run("elsewhere");
    expect(await agent.compress()).toMatchObject({ kind: "compacted" });
    await agent.run("going on");
    expect(agent.sessionId).not.toBe(head);
    await agent.close({ deleteSession: true });
    const left = [original, fork.sessionId];
    expect(sessionIds(home).toSorted()).toEqual(left.toSorted());
    const files = readdirSync(join(home, "sessions")).filter((name) => name.startsWith("session_"));
    expect(files.toSorted()).toEqual(left.map((id) => `session_${id}.json`).toSorted());
  });
});
